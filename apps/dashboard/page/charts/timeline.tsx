import type { MachineLife, Segment } from '../../src/wire.ts';
import { duration, LEVEL_NAMES, machineHref, STAGE_NAMES, timeOf } from '../format.ts';
import { Badge, Name, Shape, Words } from '../parts/marks.tsx';

interface Span {
  readonly from: number;
  readonly to: number;
}

const part = (at: number, { from, to }: Span): number =>
  to === from ? 0 : Math.min(100, Math.max(0, ((at - from) / (to - from)) * 100));

/** Returns the segments of a machine's life, each with its end time. */
const bars = ({ segments, gone }: MachineLife, now: number): readonly (Segment & { readonly to: number })[] =>
  segments
    .map((segment, index) => ({ ...segment, to: segments[index + 1]?.from ?? (gone || now) }))
    .filter(({ stage }) => stage !== 'gone');

function Bars({ life, span, now }: { life: MachineLife; span: Span; now: number }) {
  return (
    <span class="lane">
      {bars(life, now)
        .filter(({ to }) => to >= span.from)
        .map(({ from, to, level, stage }) => {
          const left = part(from, span);
          const width = Math.max(0.3, part(to, span) - left);
          return <span key={from} class={`bar ${level} ${stage}`} style={{ left: `${left}%`, width: `${width}%` }} />;
        })}
    </span>
  );
}

const TICKS = 4;

const Axis = ({ span }: { span: Span }) => (
  <div class="axis" aria-hidden="true">
    {Array.from({ length: TICKS + 1 }, (_, index) => (
      <span key={index}>{timeOf(span.from + ((span.to - span.from) * index) / TICKS)}</span>
    ))}
  </div>
);

/** Shows the history of one machine: its steps as bars, and each wait with its reason. */
export function LifeLine({ life, now }: { life: MachineLife; now: number }) {
  const end = life.gone || now;
  const first = life.segments[0]?.from ?? life.created;
  // The chart shows a short life in full. For a long life, the chart starts at the first known state.
  const from = end - life.created < 6 * 3_600_000 ? Math.min(life.created, first) : first;
  const span = { from, to: Math.max(end, from + 1_000) };
  const all = bars(life, now);
  return (
    <div class="life">
      <div class="life-track">
        <Bars life={life} span={span} now={now} />
        {life.marks
          .filter(({ at }) => at >= span.from)
          .map(({ at, text }) => (
            <span key={`${at}${text}`} class="life-mark" style={{ left: `${part(at, span)}%` }} title={text} />
          ))}
      </div>
      <Axis span={span} />
      <ol class="steps">
        {life.marks.map(({ at, text }) => (
          <li key={`${at}${text}`}>
            <time>{timeOf(at)}</time> {text}
          </li>
        ))}
      </ol>
      <div class="wide">
        <table>
          <thead>
            <tr>
              <th scope="col">From</th>
              <th scope="col">For</th>
              <th scope="col">State</th>
              <th scope="col">Step and reason</th>
            </tr>
          </thead>
          <tbody>
            {all.toReversed().map(({ from: start, to, level, stage, why }) => (
              <tr key={start}>
                <td class="number">{timeOf(start)}</td>
                <td class="number">{duration(to - start)}</td>
                <td>
                  <Badge level={level} />
                </td>
                <td class="text">
                  {STAGE_NAMES[stage]}
                  {why !== '' && (
                    <span class="quiet">
                      <Words>{` – ${why}`}</Words>
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** The maximum number of machines that the chart of a rollout shows. */
const MOST_LANES = 60;
/** The timeline starts this long before the first change. */
const BEFORE_MS = 30_000;

/** Returns the period from shortly before the first change to the last change of the machines. */
function spanOf(lives: readonly MachineLife[], now: number): Span {
  const changes = lives.flatMap(({ segments }) => segments.slice(1).map(({ from }) => from));
  const born = lives.map(({ created }) => created).filter((at) => now - at < 3_600_000);
  const first = Math.min(...changes, ...born, now - 60_000);
  return { from: Math.max(first - BEFORE_MS, now - 6 * 3_600_000), to: now };
}

/** Shows each machine of a rollout as a lane, so that batches and surges are visible. */
export function Lanes({ lives, now }: { lives: readonly MachineLife[]; now: number }) {
  const lanes = lives.slice(-MOST_LANES);
  const span = spanOf(lanes, now);
  if (lanes.length === 0) return <p class="empty">There are no machines.</p>;
  return (
    <div class="lanes">
      {lives.length > lanes.length && <p class="quiet">The newest {MOST_LANES} machines.</p>}
      {lanes.map((life) => {
        const last = life.segments.at(-1);
        const name = life.key.slice(life.key.indexOf('/') + 1);
        const state = life.gone === 0 && last ? LEVEL_NAMES[last.level] : 'Gone';
        return (
          <a
            class={`lane-row ${life.gone === 0 ? '' : 'gone'}`}
            key={`${life.key}${life.created}`}
            href={machineHref(life.key)}
          >
            <span class="lane-name" title={name}>
              {life.gone === 0 && last && <Shape level={last.level} />}
              <Name>{name}</Name>
              <span class="hidden">: {state}</span>
            </span>
            <Bars life={life} span={span} now={now} />
          </a>
        );
      })}
      <div class="lane-row">
        <span class="lane-name" />
        <Axis span={span} />
      </div>
    </div>
  );
}
