import type { DeploymentDetail, DeploymentRow } from '../../src/wire.ts';
import { Chart, type ChartData, type Line } from '../charts/chart.tsx';
import { Lanes } from '../charts/timeline.tsx';
import { query } from '../filters.ts';
import { duration, plural, ROLLOUT_LEVELS, ROLLOUT_NAMES, rolloutHref, yamlHref } from '../format.ts';
import { Badge, Card, Meter, Name, Words } from '../parts/marks.tsx';
import { deployments, inNamespace, machineChanges, now } from '../store.ts';
import { readJson, useLoaded } from './detail.ts';
import { EventTable } from './events.tsx';

const ORDER = ['failed', 'blocked', 'rolling', 'scaling', 'deleting', 'waiting', 'paused', 'complete'];

const byUrgency = (a: DeploymentRow, b: DeploymentRow): number =>
  ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (a.key < b.key ? -1 : 1);

function RolloutCard({ row }: { row: DeploymentRow }) {
  const { key, name, ns, state, why, closedZones, updated, available, desired, total, old, since } = row;
  const level = ROLLOUT_LEVELS[state];
  return (
    <li class={`rollout ${level}`}>
      <div class="rollout-head">
        <a href={rolloutHref(key)}>
          <Name>{name}</Name>
        </a>
        <Badge level={level} text={ROLLOUT_NAMES[state]} />
        <span class="quiet">{state === 'complete' ? ns : `for ${duration(now.value - since)}`}</span>
      </div>
      <div class="pair">
        <span>Updated</span>
        <Meter
          part={updated}
          whole={desired}
          level={level}
          label={`${updated} of ${desired} machines of ${name} are updated`}
        />
        <span class="number">
          {updated}/{desired}
        </span>
        <span>Available</span>
        <Meter
          part={available}
          whole={desired}
          level="ready"
          label={`${available} of ${desired} machines of ${name} are available`}
        />
        <span class="number">
          {available}/{desired}
        </span>
      </div>
      <p class="quiet small">
        {plural(total, 'machine')}
        {old > 0 ? `, ${old} old` : ''}
        {total > desired ? `, surge ${total - desired}` : ''}
      </p>
      {[why, closedZones].filter(Boolean).map((line) => (
        <p key={line} class="line-why">
          <Words>{line}</Words>
        </p>
      ))}
    </li>
  );
}

export function RolloutsPage() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = inNamespace(deployments.value)
    .filter(({ name, cls, state }) => words.every((word) => `${name} ${cls} ${state}`.toLowerCase().includes(word)))
    .toSorted(byUrgency);
  return (
    <>
      <h1>Rollouts</h1>
      {rows.length === 0 && <p class="empty">There are no MachineDeployments.</p>}
      <ul class="rollouts">
        {rows.map((row) => (
          <RolloutCard key={row.key} row={row} />
        ))}
      </ul>
    </>
  );
}

const LINES: readonly Line[] = [
  { name: 'Desired', color: 'quiet', dashed: true },
  { name: 'Updated', color: 'starting' },
  { name: 'Available', color: 'ready', fill: true },
  { name: 'All', color: 'leaving' },
];

/** Returns the samples as lines of a chart. The lines end at the current time. */
function dataOf({ samples }: DeploymentDetail, at: number): ChartData {
  const last = samples.at(-1);
  const all = last === undefined ? [] : [...samples, [Math.max(at, last[0] ?? 0), ...last.slice(1)]];
  return [all.map(([time = 0]) => time), ...LINES.map((_, line) => all.map((sample) => sample[line + 1] ?? 0))];
}

function Status({ row, detail }: { row: DeploymentRow; detail: DeploymentDetail | undefined }) {
  const { state, since, why, closedZones } = row;
  return (
    <div class="status">
      <p>
        <Badge level={ROLLOUT_LEVELS[state]} text={ROLLOUT_NAMES[state]} /> for {duration(now.value - since)}
        {why !== '' && (
          <span class="quiet">
            <Words>{` – ${why}`}</Words>
          </span>
        )}
      </p>
      {closedZones !== '' && (
        <p>
          <Words>{closedZones}</Words>
        </p>
      )}
      {detail !== undefined && detail.next !== '' && (
        <p>
          <b>Next step:</b> <Words>{detail.next}</Words>
        </p>
      )}
      {detail !== undefined && detail.hints.length > 0 && (
        <ul class="hints">
          {detail.hints.map((hint) => (
            <li key={hint}>
              <Words>{hint}</Words>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function RolloutPage({ ns, name }: { ns: string; name: string }) {
  const key = `${ns}/${name}`;
  const row = deployments.value.get(key);
  const { data, problem } = useLoaded<DeploymentDetail>(
    `/api/rollouts/${key}`,
    `${machineChanges.value} ${JSON.stringify(row)}`,
    readJson,
  );
  return (
    <>
      <p class="trail">
        <a href="/rollouts">Rollouts</a> / MachineDeployment
      </p>
      <h1 class="break">
        <Words>{name}</Words>
      </h1>
      {row !== undefined && <Status row={row} detail={data} />}
      {row === undefined && data !== undefined && <p class="status">The deployment does not exist.</p>}
      {problem !== undefined && <p class="gap">{problem}</p>}
      {data === undefined && problem === undefined && <p class="empty">Loading …</p>}
      {data !== undefined && (
        <>
          <Card id="progress" title="Progress">
            <Chart
              label={`Desired, updated, available and all machines of ${name}, over time`}
              lines={LINES}
              data={dataOf(data, now.value)}
              height={220}
            />
          </Card>
          <Card id="lanes" title="Machines over time">
            <Lanes lives={data.lives} now={now.value} />
          </Card>
          <div class="columns">
            <Card
              id="explain"
              title="Explanation"
              aside={
                <>
                  <span class="grow" />
                  <a href={yamlHref('machinedeployment', ns, name)}>YAML</a>
                </>
              }
            >
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area needs the focus for the arrow keys */}
              <pre tabIndex={0}>
                <Words>{data.explain.join('\n')}</Words>
              </pre>
            </Card>
            <Card id="events" title="Events">
              <EventTable rows={data.events} short />
            </Card>
          </div>
        </>
      )}
    </>
  );
}
