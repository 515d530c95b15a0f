import { computed } from '@preact/signals';
import { useState } from 'preact/hooks';
import { type ClusterRow, type ControllerRow, type DeploymentRow, LEVELS, type Level } from '../../src/wire.ts';
import { query } from '../filters.ts';
import { LEVEL_NAMES, plural } from '../format.ts';
import { Badge, Name, Shape, Words } from '../parts/marks.tsx';
import { clusters, controllers, countsIn, deployments, fleet } from '../store.ts';

/** The number of clusters that the page shows first, if the list is long. */
const FIRST = 200;

/** A cluster, and the most urgent level of its machines, rollouts and controllers. */
interface Assessed {
  readonly row: ClusterRow;
  readonly level: Level;
  readonly machines: ReadonlyMap<Level, number>;
  readonly problems: readonly string[];
}

const urgency = (level: Level): number => LEVELS.indexOf(level);
const worst = (levels: readonly Level[]): Level => levels.toSorted((a, b) => urgency(a) - urgency(b))[0] ?? 'ready';

/**
 * Returns the level of a controller. In a fleet, a controller without a Lease is a problem, because no replica serves
 * the cluster.
 */
const levelOfController = ({ state, level }: ControllerRow): Level => (state === 'unknown' ? 'blocked' : level);

const textOfController = ({ name, state, why }: ControllerRow): string =>
  state === 'unknown' ? `No process holds the Lease of ${name}.` : `${name}: ${why}`;

const isHeld = ({ state }: DeploymentRow): boolean => state === 'blocked' || state === 'failed';

const deletionText = ({ object, elsewhere }: ClusterRow): string =>
  `The ${elsewhere ? 'ClusterProfile' : object !== '' ? 'Cluster' : 'namespace'} is being deleted.`;

function assess(row: ClusterRow, own: readonly ControllerRow[], rollouts: readonly DeploymentRow[]): Assessed {
  const counted = countsIn(row.key);
  const levels = LEVELS.filter((level) => (counted.get(level) ?? 0) > 0);
  const bad = own.filter((one) => levelOfController(one) !== 'ready');
  const held = rollouts.filter(isHeld);
  const unserved = own.length === 0 && !row.elsewhere && row.problem === '';
  return {
    row,
    machines: counted,
    level: worst([
      ...levels,
      ...bad.map(levelOfController),
      ...held.map(({ state }): Level => (state === 'failed' ? 'failed' : 'blocked')),
      ...(unserved || row.unreachable !== '' || row.problem !== '' ? (['blocked'] as const) : []),
      ...(row.deleting ? (['leaving'] as const) : []),
    ]),
    problems: [
      ...(row.deleting ? [deletionText(row)] : []),
      ...(row.problem !== '' ? [row.problem] : []),
      ...(row.unreachable !== '' ? [row.unreachable] : []),
      ...(unserved ? ['No process holds a Lease of the cluster.'] : []),
      ...bad.map(textOfController),
      ...held.map(({ name, why }) => `Rollout ${name}: ${why}`),
    ],
  };
}

/** All clusters, the most urgent cluster first. */
const assessed = computed<readonly Assessed[]>(() => {
  const ofController = Map.groupBy(controllers.value.values(), ({ ns }) => ns);
  const ofRollout = Map.groupBy(deployments.value.values(), ({ ns }) => ns);
  return [...clusters.value.values()]
    .map((row) => assess(row, ofController.get(row.key) ?? [], ofRollout.get(row.key) ?? []))
    .toSorted((a, b) => urgency(a.level) - urgency(b.level) || (a.row.key < b.row.key ? -1 : 1));
});

function Cluster({ row, level, machines, problems }: Assessed) {
  const present = LEVELS.filter((one) => (machines.get(one) ?? 0) > 0);
  return (
    <li class={`rollout ${level}`}>
      <div class="rollout-head">
        {row.elsewhere ? (
          <Name>{row.key}</Name>
        ) : (
          <a href={`/?ns=${row.key}`}>
            <Name>{row.key}</Name>
          </a>
        )}
        <Badge level={level} />
        {row.object !== '' && <span class="quiet">{row.object}</span>}
        {row.region !== '' && <span class="quiet">{row.region}</span>}
      </div>
      {problems.map((line) => (
        <p key={line} class="line-why">
          <Words>{line}</Words>
        </p>
      ))}
      <p class="quiet small cluster-counts">
        {row.elsewhere && 'The machines are in the cluster. Start mcm dashboard with the kubeconfig of the cluster.'}
        {!row.elsewhere && present.length === 0 && 'No machines'}
        {present.map((one) => (
          <span key={one} class="stat-name">
            <Shape level={one} />
            {machines.get(one)} {LEVEL_NAMES[one]}
          </span>
        ))}
      </p>
    </li>
  );
}

/** The page of the clusters of a fleet. Clusters with problems come first. */
export function ClustersPage() {
  const [most, setMost] = useState(FIRST);
  const text = query.value.toLowerCase();
  const found = assessed.value.filter(({ row }) =>
    `${row.key} ${row.object} ${row.region}`.toLowerCase().includes(text),
  );
  const bad = found.filter(({ level }) => level === 'failed' || level === 'blocked').length;
  return (
    <>
      <h1>Clusters</h1>
      <p class="quiet">
        {plural(found.length, 'cluster')}, {bad === 0 ? 'no problems' : `${bad} with problems`}
      </p>
      {found.length === 0 && (
        <p class="empty">
          {fleet.value === '' ? 'Start mcm dashboard with --fleet.' : 'No cluster of the fleet matches.'}
        </p>
      )}
      <ul class="rollouts">
        {found.slice(0, most).map((one) => (
          <Cluster key={one.row.key} {...one} />
        ))}
      </ul>
      {found.length > most && (
        <button type="button" onClick={() => setMost(most + FIRST)}>
          Show more
        </button>
      )}
    </>
  );
}
