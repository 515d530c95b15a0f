import { CONTROLLER_NAMES, isController } from '../../src/controllers.ts';
import type { Level } from '../../src/wire.ts';
import { namespace } from '../filters.ts';
import { duration, machineHref, ROLLOUT_NAMES, rolloutHref } from '../format.ts';
import { Badge, Card, Name, Words } from '../parts/marks.tsx';
import { controllers, deployments, inNamespace, machineChanges, machines, now, urgent } from '../store.ts';

interface Item {
  readonly key: string;
  readonly href: string;
  readonly name: string;
  readonly kind: string;
  readonly level: Level;
  /** The text for the state of the object. The default is the name of the level. */
  readonly state?: string;
  readonly text: string;
  readonly since: number;
}

/** The maximum number of shown items. */
const MOST = 6;

function ownItems(): readonly Item[] {
  const rows = [...urgent].flatMap((key) => machines.get(key)?.peek() ?? []);
  const own = rows.filter(({ ns }) => namespace.value === '' || ns === namespace.value);
  const groups = Map.groupBy(
    own,
    ({ ns, deployment, level, why, phase }) => `${ns} ${deployment} ${level} ${why || phase}`,
  );
  return [...groups].flatMap(([key, all]): Item[] => {
    const [first] = all;
    if (first === undefined) return [];
    const { ns, deployment, name, level, why, phase } = first;
    const since = Math.min(...all.map((row) => row.since));
    const common = { key, level, text: why || phase, since };
    if (all.length === 1) return [{ ...common, href: machineHref(first.key), name, kind: 'Machine' }];
    const search = new URLSearchParams({ q: deployment, state: level, ...(namespace.value !== '' && { ns }) });
    const title = deployment || 'without a deployment';
    return [{ ...common, href: `/machines?${search}`, name: title, kind: `${all.length} machines` }];
  });
}

function items(): readonly Item[] {
  machineChanges.value;
  const dead = inNamespace(controllers.value)
    .filter(({ state }) => state === 'stopped' || state === 'behind')
    .map(({ key, name, level, state, why, effects, since }) => ({
      key: `c${key}`,
      href: '/system',
      name,
      kind: isController(name) ? 'Controller' : 'Program',
      level,
      since,
      state: CONTROLLER_NAMES[state],
      text: (effects.length > 0 ? effects : [why]).join('; '),
    }));
  const rollouts = inNamespace(deployments.value)
    .filter(({ state }) => state === 'blocked' || state === 'failed')
    .map(({ key, name, state, why, since }) => ({
      key: `d${key}`,
      href: rolloutHref(key),
      name,
      kind: 'Rollout',
      since,
      state: ROLLOUT_NAMES[state],
      level: (state === 'failed' ? 'failed' : 'blocked') as Level,
      text: why || ROLLOUT_NAMES[state],
    }));
  const own = ownItems();
  const urgency = ({ level }: Item): number => (level === 'failed' ? 0 : 1);
  return [...dead, ...[...rollouts, ...own].toSorted((a, b) => urgency(a) - urgency(b) || a.since - b.since)];
}

/** The most urgent problems, with their reasons. If there is no problem, the list is not drawn. */
export function Attention() {
  const all = items();
  if (all.length === 0) return null;
  return (
    <Card
      id="attention"
      title="Needs attention"
      aside={<span class="quiet">{all.length > MOST ? `${MOST} of ${all.length}` : all.length}</span>}
    >
      <ul class="attention">
        {all.slice(0, MOST).map(({ key, href, name, kind, level, state, text, since }) => (
          <li key={key}>
            <Badge level={level} text={state} />
            <a href={href}>
              <Name>{name}</Name>
            </a>
            <span class="quiet kind">{kind}</span>
            <span class="why">
              <Words>{text}</Words>
            </span>
            <span class="quiet since">{since > 0 ? duration(now.value - since) : ''}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
