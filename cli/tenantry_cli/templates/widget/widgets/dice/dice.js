import { connect } from "./bridge.js";

const byId = (id) => document.getElementById(id);
let rolled = { dice: [], sides: 6 };

function show({ data, hidden }) {
  rolled = data;
  const dice = data.dice.map((value, index) => {
    const die = document.createElement("b");
    die.textContent = value;
    die.style.animationDelay = `${index * 60}ms`;
    return die;
  });
  byId("dice").replaceChildren(...dice);
  byId("total").textContent = `${data.total} of ${hidden.best ?? data.dice.length * data.sides}`;
}

byId("again").addEventListener("click", async () => {
  const app = await host;
  await app.call("roll_dice", { count: rolled.dice.length || 2, sides: rolled.sides });
});

const host = connect({ name: "my-plugin", show, theme: (name) => {
  document.documentElement.style.colorScheme = name;
} });
