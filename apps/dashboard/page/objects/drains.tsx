import { computed } from '@preact/signals';
import type { DrainRow, MachineRow } from '../../src/wire.ts';
import { duration, machineHref } from '../format.ts';
import { Badge, Meter, Name, Words } from '../parts/marks.tsx';
import { drains, inNamespace, machineChanges, machines, now, shown } from '../store.ts';

const byUrgency = (a: DrainRow, b: DrainRow): number => {
  const urgency = ({ level }: DrainRow): number => ['failed', 'blocked', 'leaving'].indexOf(level);
  return urgency(a) - urgency(b) || a.since - b.since;
};

/** Machines that are drained and whose pods the server does not watch. */
const others = computed<readonly MachineRow[]>(() => {
  machineChanges.value;
  return shown.value
    .map((row) => row.peek())
    .filter(({ key, stage }) => stage === 'drain' && machines.has(key) && !drains.value.has(key));
});

function Drain({ row }: { row: DrainRow }) {
  const { key, name, node, left, pods, blockers, level, since } = row;
  return (
    <li class={`rollout ${level}`}>
      <div class="rollout-head">
        <a href={machineHref(key)}>
          <Name>{name}</Name>
        </a>
        <Badge level={level} text={level === 'leaving' ? 'Draining' : undefined} />
        <span class="quiet">for {duration(now.value - since)}</span>
      </div>
      {left >= 0 ? (
        <div class="pair">
          <span>Pods left</span>
          <Meter
            part={left}
            whole={Math.max(pods, 1)}
            level={level}
            label={`${left} of ${pods} pods are left on ${node}`}
          />
          <span class="number">
            {left}/{pods}
          </span>
        </div>
      ) : (
        <p class="quiet small">The pods of node {node} are not known.</p>
      )}
      {blockers.map((blocker) => (
        <p key={blocker} class="line-why">
          <Words>{blocker}</Words>
        </p>
      ))}
    </li>
  );
}

export function DrainsPage() {
  const rows = inNamespace(drains.value).toSorted(byUrgency);
  return (
    <>
      <h1>Drains</h1>
      {rows.length + others.value.length === 0 && <p class="empty">No machine with a node is being deleted.</p>}
      <ul class="rollouts">
        {rows.map((row) => (
          <Drain key={row.key} row={row} />
        ))}
      </ul>
      {others.value.length > 0 && (
        <>
          <h2>Also draining</h2>
          <p class="quiet">The pods of the ten oldest drains are watched.</p>
          <ul class="plain">
            {others.value.slice(0, 100).map(({ key, name, why }) => (
              <li key={key}>
                <a href={machineHref(key)}>
                  <Name>{name}</Name>
                </a>{' '}
                <span class="quiet">
                  <Words>{why}</Words>
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
