import { WaveBadge } from "../../migrations/WaveBadge";
import { openRun, underWayWords, waveAnchor, type MigrationSummary, type Wave } from "../../migrations/waves";

/** The waves in their order, each leading to what is told of it below. */
export const Overview = ({ migration: { waves } }: { migration: MigrationSummary }) =>
  waves.length < 2 ? null : (
    <nav aria-label="Waves">
      <ol className="waves">
        {waves.map((wave, index) => (
          <li key={wave.name}>
            <a href={`#${waveAnchor(wave.name)}`}>
              <span className="dim">{index + 1}</span>
              <span className="name">{wave.name}</span>
              <WaveBadge wave={wave} />
              <span className="under">{under(wave)}</span>
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );

function under(wave: Wave): string {
  const run = openRun(wave);
  return `${run === null ? `on ${wave.at}` : underWayWords(run)}${wave.held ? ", held" : ""}`;
}
