// A widget of two pages with React Router's own BrowserRouter, as its guide writes one: tests/host/test_host_router.py.
import { createRoot } from "react-dom/client";
import { BrowserRouter, Link, Route, Routes, useNavigate, useParams } from "react-router";

function Shelf() {
  return (
    <main>
      <h1>All animals</h1>
      <Link to="/animals/7">Okapi</Link>
    </main>
  );
}

function Animal() {
  const id = Number(useParams().id);
  const navigate = useNavigate();
  return (
    <main>
      <h1>Animal {id}</h1>
      <input aria-label="Note" />
      <button onClick={() => void navigate(`/animals/${id + 1}`)}>Next</button>
      <button onClick={() => location.reload()}>Start again</button>
    </main>
  );
}

createRoot(document.body.appendChild(document.createElement("div"))).render(
  <BrowserRouter>
    <Routes>
      <Route path="/" element={<Shelf />} />
      <Route path="/animals/:id" element={<Animal />} />
      <Route path="*" element={<h1>There is nothing here</h1>} />
    </Routes>
  </BrowserRouter>,
);
