import { countOf, involvedOf } from './recordings/deletions.ts';
import type { Recorded, State } from './recordings/recording.ts';

type Fields = Readonly<Record<string, unknown>>;
const specOf = (object: Recorded): Fields => (object.spec ?? {}) as Fields;

/** Returns the user's request for a rollback, if the controller rolled back the template of a deployment. */
export function rolledBackTo(old: Recorded, now: Recorded, before: State | undefined, soon: State): Fields | undefined {
  const { rollbackTo: _asked, template: _old, ...oldRest } = specOf(old);
  const { rollbackTo, template: _new, ...rest } = specOf(now);
  const others = Object.fromEntries(
    Object.keys({ ...oldRest, ...rest })
      .filter((key) => JSON.stringify(oldRest[key]) !== JSON.stringify(rest[key]))
      .map((key) => [key, rest[key] ?? null]),
  );
  const withOthers = (spec: Fields): Fields => {
    const all = { ...spec, ...others };
    return Object.keys(all).length > 0 ? { spec: all } : {};
  };
  if (specOf(old).rollbackTo !== undefined && rollbackTo === undefined) return withOthers({});
  const event = newRollback(now.metadata.name, before, soon);
  if (!event || rollbackTo !== undefined) return undefined;
  const revision = Number(/revision (\d+)/.exec(String(event.message))?.[1] ?? 0);
  return withOthers({ rollbackTo: { revision } });
}

function newRollback(deployment: string, before: State | undefined, soon: State): Recorded | undefined {
  const rollbacks = (one: State | undefined): readonly Recorded[] =>
    (one?.events ?? []).filter(
      (event) => event.reason === 'DeploymentRollback' && involvedOf(event).name === deployment,
    );
  const known = new Map(rollbacks(before).map((event) => [event.metadata.name, countOf(event)]));
  return rollbacks(soon).find((event) => countOf(event) > (known.get(event.metadata.name) ?? 0));
}
