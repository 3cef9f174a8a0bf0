import { connection, problems } from "../state/plugins";

/** Above the conversation: why what was saved last is not what answers. The terminal says the same. */
export function Problems() {
  const found = problems.value;
  const served = connection.value?.plugin.published;
  return (
    <div class="problems" role={found.length > 0 ? "alert" : undefined}>
      {found.length > 0 && (
        <>
          <h2>{served ? "The last save did not publish; what was published before goes on serving" : "This plugin did not publish yet"}</h2>
          <ul>
            {found.map((problem, i) => (
              <li key={i}>
                <p>
                  <code>{problem.rule}</code> {problem.tool && `${problem.tool}: `}
                  {problem.message}
                </p>
                {problem.where && <p class="mono">{problem.where}</p>}
                {problem.frames?.length > 0 && <pre tabIndex={0}>{problem.frames.join("\n")}</pre>}
                {problem.hint && <p class="quiet">{problem.hint}</p>}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
