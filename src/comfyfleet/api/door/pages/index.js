const find = (id) => document.getElementById(id);
const show = (id, on) => { find(id).hidden = !on; };

function say(id, text) {
  find(id).textContent = text ?? "";
  show(id, Boolean(text));
}

async function refresh() {
  const health = await fetch("/readyz").then((answer) => answer.json()).catch(() => null);
  find("status").textContent = health ? `The server is ${health.status}.` : "The server does not answer.";
  const answer = await fetch("/api/auth/me");
  const me = answer.ok ? await answer.json() : null;
  show("login", !me);
  show("me", Boolean(me));
  if (!me) return;
  find("email").textContent = me.email;
  find("role").textContent = me.role;
  find("tenant").textContent = me.tenant_slug ?? "all of them";
  const wallet = me.tenant_id ? await fetch("/api/wallet").then((each) => each.json()) : null;
  find("balance").textContent = wallet ? wallet.balance.toLocaleString() : "operators have no wallet";
}

find("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  say("problem", null);
  const answer = await fetch("/api/auth/login", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(Object.fromEntries(new FormData(event.target))),
  });
  const body = await answer.json();
  if (!answer.ok) return say("problem", body.error.message);
  say("warning", body.warning);
  event.target.reset();
  await refresh();
});

find("logout").addEventListener("click", async () => {
  await fetch("/api/auth/logout", { method: "POST" });
  say("warning", null);
  await refresh();
});

await refresh();
