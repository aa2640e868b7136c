"""Short requests as people type them into a search box, with their types: made from templates, none from a data set.

Li & Roth's questions are whole sentences of the 1990s; these teach "how to …", "… meaning" and "price of …".
"""

from __future__ import annotations

from random import Random

from anselect.text.answer_type_labels import FINE_TYPES
from anselect.training.answer_type_data import LabelledQuestion

_TEMPLATES = {
    "ABBR:exp": (
        "what does {short} stand for | {short} full form | {short} stands for | meaning of the acronym {short} | "
        "what is {short} short for | expand {short} | what do the letters {short} mean"
    ),
    "ABBR:abb": (
        "abbreviation for {thing} | acronym for {thing} | how do you abbreviate {thing} | short form of {thing}"
    ),
    "DESC:def": (
        "define {thing} | {thing} definition | {thing} meaning | what does {thing} mean | what's {thing} | "
        "explain {thing} | what exactly is {thing} | meaning of {thing} | what is meant by {thing}"
    ),
    "DESC:desc": (
        "difference between {thing} and {other} | {thing} vs {other} | pros and cons of {thing} | tell me about "
        "{thing} | describe {thing} | history of {thing} | {thing} review | benefits of {thing} | is {thing} "
        "better than {other} | should i buy {thing} | does {thing} work with {other} | what happens if i {do} | "
        "can you {do} for free | is it safe to {do}"
    ),
    "DESC:manner": (
        "how to {do} | how do i {do} | how can i {do} | steps to {do} | best way to {do} | help me {do} | how "
        "does {thing} work | show me how to {do} | instructions to {do} | i can't {do}, how is it done"
    ),
    "DESC:reason": (
        "why can't i {do} | why does {thing} keep failing | why is {thing} so popular | how come {thing} is "
        "expensive | reasons to {do} | reason for {thing} | what causes {thing} to break | why won't {thing} "
        "start"
    ),
    "HUM:ind": (
        "ceo of {company} | who's the ceo of {company} | founder of {company} | who runs {company} | who is the "
        "president of {place} | prime minister of {place} | author of {work} | director of {work} | lead singer "
        "of {band} | who owns {company} | richest person in {place} | name the king of {place} | who came up with "
        "{thing} | cast of {work} | who plays the lead in {work}"
    ),
    "HUM:gr": (
        "company that makes {thing} | which company owns {company} | who manufactures {thing} | what team won the "
        "cup in {place} | best airline to {place} | name the party in power in {place} | what band wrote {work} | "
        "biggest bank in {place} | top university in {place} | which startup makes {thing}"
    ),
    "HUM:desc": (
        "who is {person} | who's {person} | who was {person} | who exactly is {person} | tell me who {person} is"
    ),
    "LOC:city": (
        "capital of {place} | largest city in {place} | what city is {company} based in | name the capital of "
        "{place} | which city hosts {event}"
    ),
    "LOC:country": (
        "which country makes {thing} | country of origin of {thing} | what country won {event} | what country is "
        "{city} in"
    ),
    "LOC:state": "what state is {city} in | which us state has the most {things}",
    "LOC:mount": "tallest mountain in {place} | highest peak in {place}",
    "LOC:other": (
        "where is {city} | where can i buy {thing} | restaurants near {city} | headquarters of {company} | "
        "where's {company} based | where do i find {thing} | best beach in {place} | where was {work} filmed | "
        "hotels in {city} | address of {company} | name a lake in {place} | where was {person} born | closest "
        "airport to {city}"
    ),
    "NUM:count": ("how many {things} are in {place} | number of {things} in {place} | {company} number of employees"),
    "NUM:other": "population of {place} | what is the population of {city} | {company} stock | gdp of {place}",
    "NUM:date": (
        "when is {event} | {work} release date | date of {event} | what year did {company} start | when does "
        "{event} start | what day is {event} | best month to visit {place} | {person} birthday | when did {work} "
        "come out"
    ),
    "NUM:money": (
        "price of {thing} | how much is {thing} | {thing} cost | how much does {thing} cost | {person} net worth "
        "| average salary in {place} | how much do i pay for {thing}"
    ),
    "NUM:period": (
        "how long does it take to {do} | how old is {person} | {person} age | length of {work} in minutes | how "
        "long is {work} | how many years has {company} existed"
    ),
    "NUM:dist": (
        "how far is {city} from {place} | distance from {city} to {place} | how tall is {person} | {person} "
        "height | how high is {thing} | how wide is {thing}"
    ),
    "NUM:weight": "weight of {thing} | how heavy is {thing} | how much does {thing} weigh",
    "NUM:speed": "how fast is {thing} | top speed of {thing}",
    "NUM:temp": "temperature in {city} | how hot does {thing} get | how cold is it in {place}",
    "NUM:perc": (
        "what percentage of people in {place} own {thing} | unemployment rate in {place} | interest rate in {place}"
    ),
    "NUM:code": "zip code of {city} | phone number of {company} | country code for {place}",
    "NUM:volsize": "how big is {place} | size of {city} | area of {place}",
    "ENTY:cremat": (
        "best movie of {person} | books by {person} | songs by {band} | what movie is {person} in | name a novel "
        "by {person} | good show to watch"
    ),
    "ENTY:product": (
        "best {gadget} under 500 | which {gadget} should i buy | what {gadget} does {person} use | recommend a {gadget}"
    ),
    "ENTY:techmeth": (
        "best app for {hobby} | what software is used for {hobby} | which programming framework is used at {company}"
    ),
    "ENTY:lang": "what language do they speak in {place} | official language of {place} | language of {place}",
    "ENTY:currency": "currency of {place} | what money do they use in {place} | what currency is used in {city}",
    "ENTY:food": (
        "what to eat in {place} | what do people eat in {place} | best dish from {place} | what food is {city} "
        "known for"
    ),
    "ENTY:religion": "main religion in {place} | what religion is {person}",
    "ENTY:color": "what color is {thing} | colors of the flag of {place}",
    "ENTY:animal": "national animal of {place} | what kind of animal lives in {place}",
    "ENTY:sport": "national sport of {place} | what sport does {person} play",
    "ENTY:other": "things to do in {city} | what should i bring to {event} | what is {company} known for",
}
_FILLERS = {
    "short": "NGO | USB | HDMI | WWF | PDF | SUV | UNESCO | RSVP | LED | CPU | FAQ | VPN | wifi | lol | GDPR",
    "thing": (
        "photosynthesis | a mortgage | bitcoin | blockchain | a laptop | an electric car | inflation | wireless "
        "charging | 5g | a black hole | gluten | a podcast | solar power | machine learning | a vacuum cleaner | "
        "recession | the suez canal"
    ),
    "other": "gold | a tablet | diesel | ethernet | a credit card | wind power | a blog | statistics",
    "things": "islands | lakes | people | students | castles | electric cars | cinemas",
    "do": (
        "change a tire | delete my account | tie a tie | make pancakes | lose weight | learn spanish | install "
        "linux | fix a leaky tap | get a passport | cook rice | write a cv | grow tomatoes | turn off "
        "notifications | connect a printer | boil an egg"
    ),
    "company": "Toyota | Siemens | Samsung | Ikea | Spotify | Nestle | Adobe | Airbus | Sony | Intel",
    "place": "Norway | Brazil | Texas | Kenya | Scotland | Vietnam | Ohio | Peru | Poland | Morocco",
    "city": "Lyon | Osaka | Denver | Nairobi | Krakow | Seville | Boston | Lima",
    "person": ("Serena Williams | Tom Hanks | Marie Curie | Rihanna | Usain Bolt | Ada Lovelace | Alan Turing | Pele"),
    "work": "Inception | Frozen | The Hobbit | Breaking Bad | Avatar | Moby Dick | Titanic | Friends",
    "band": "Coldplay | Queen | U2 | Radiohead | Metallica",
    "event": ("easter | the world cup | black friday | the eurovision | mothers day | the next eclipse | the marathon"),
    "gadget": "headphones | camera | drone | keyboard | smartwatch | monitor",
    "hobby": "editing photos | budgeting | running | drawing | taking notes",
}


def made_requests(per_template: int, seed: int) -> list[LabelledQuestion]:
    """Fill every template that many times, always the same way for a seed."""
    chance = Random(seed)
    fillers = {slot: words.split(" | ") for slot, words in _FILLERS.items()}
    made = {}
    for fine, templates in _TEMPLATES.items():
        for template in templates.split(" | "):
            for _ in range(per_template):
                text = template.format(**{slot: chance.choice(words) for slot, words in fillers.items()})
                made[text] = LabelledQuestion(text, FINE_TYPES.index(fine))
    return list(made.values())
