import { computed } from '@preact/signals';
import { CONTROLLER_NAMES } from '../../src/controllers.ts';
import { duration, yamlHref } from '../format.ts';
import { Badge, Card, Name, Words } from '../parts/marks.tsx';
import { classes, controllers, inNamespace, machines, now, pools, structure } from '../store.ts';

function countsBy(field: 'cls' | 'zone'): ReadonlyMap<string, number> {
  structure.value;
  const sums = new Map<string, number>();
  for (const row of machines.values()) {
    const value = field === 'cls' ? `${row.peek().ns}/${row.peek().cls}` : row.peek().zone;
    sums.set(value, (sums.get(value) ?? 0) + 1);
  }
  return sums;
}

const ofClass = computed(() => countsBy('cls'));
const ofZone = computed(() => countsBy('zone'));

function Controllers() {
  const rows = inNamespace(controllers.value);
  if (rows.length === 0) return <p class="empty">No controller is known.</p>;
  return (
    <ul class="rollouts">
      {rows.map(({ key, name, ns, state, holder, since, level, why, effects }) => (
        <li key={key} class={`rollout ${level}`}>
          <div class="rollout-head">
            <Name>{name}</Name>
            <Badge level={level} text={CONTROLLER_NAMES[state]} />
            {state !== 'acts' && since > 0 && <span class="quiet">for {duration(now.value - since)}</span>}
          </div>
          {[why, ...effects].filter(Boolean).map((line) => (
            <p key={line} class="line-why">
              <Words>{line}</Words>
            </p>
          ))}
          <p class="quiet small break">
            <Words>{`Namespace ${ns}.${holder === '' ? '' : ` Lease held by ${holder}.`}`}</Words>
          </p>
        </li>
      ))}
    </ul>
  );
}

function Classes() {
  const rows = inNamespace(classes.value).toSorted((a, b) => (a.key < b.key ? -1 : 1));
  if (rows.length === 0) return <p class="empty">There are no MachineClasses.</p>;
  return (
    <ul class="plain facts-list">
      {rows.map(({ key, ns, name, provider, machineType, zone }) => (
        <li key={key}>
          <a href={yamlHref('machineclass', ns, name)}>
            <Name>{name}</Name>
          </a>
          <span class="quiet">{[provider, machineType, zone].filter(Boolean).join(' · ')}</span>
          <b>{ofClass.value.get(key) ?? 0}</b>
        </li>
      ))}
    </ul>
  );
}

function Pools() {
  const rows = [...pools.value.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
  if (rows.length === 0) return null;
  return (
    <Card id="pools" title="Machine config pools">
      <ul class="plain facts-list">
        {rows.map(({ key, name, nodes, updated, degraded, paused, level, why }) => (
          <li key={key}>
            <a href={yamlHref('machineconfigpool', '', name)}>
              <Name>{name}</Name>
            </a>
            <Badge level={level} text={degraded > 0 ? `${degraded} degraded` : paused ? 'Paused' : undefined} />
            <span class="quiet">
              <Words>{why}</Words>
            </span>
            <b>
              {updated}/{nodes}
            </b>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** The page of controllers, classes, pools and zones. */
export function SystemPage() {
  const zones = [...ofZone.value].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return (
    <>
      <h1>System</h1>
      <h2>Controllers</h2>
      <Controllers />
      <div class="columns">
        <Card id="classes" title="Classes" aside={<span class="quiet">machines of each</span>}>
          <Classes />
        </Card>
        <Card id="zones" title="Zones" aside={<span class="quiet">machines in each</span>}>
          {zones.length === 0 && <p class="empty">There are no machines.</p>}
          <ul class="plain facts-list">
            {zones.map(([zone, number]) => (
              <li key={zone}>
                <span>{zone || 'Zone not known'}</span>
                <span />
                <b>{number}</b>
              </li>
            ))}
          </ul>
        </Card>
        <Pools />
      </div>
    </>
  );
}
