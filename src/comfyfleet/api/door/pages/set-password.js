const form = document.getElementById("form");
const problem = document.getElementById("problem");
// The token stands behind '#', so it was never sent to a server or written into a log.
const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";

if (!token) {
  problem.textContent = "This link is not complete. Open it as it was sent to you, or ask for a new one.";
  problem.hidden = false;
  form.querySelector("button").disabled = true;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.hidden = true;
  const answer = await fetch("/api/auth/password", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token, password: new FormData(form).get("password") }),
  });
  if (answer.ok) {
    form.hidden = true;
    document.getElementById("done").hidden = false;
    history.replaceState(null, "", location.pathname);
    return;
  }
  problem.textContent = (await answer.json()).error.message;
  problem.hidden = false;
});
