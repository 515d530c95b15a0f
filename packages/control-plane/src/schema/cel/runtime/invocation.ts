import type { Overload } from '../types/overload.ts';
import type { Compiled, Run } from './compiled.ts';
import { isOfType } from './is-of-type.ts';
import { noOverload } from './no-overload.ts';

export function invocation(overloads: readonly Overload[], args: readonly Compiled[]): Run {
  const runs = args.map((arg) => arg.run);
  const [only] = overloads;
  const sure = overloads.length === 1 && args.every((arg) => arg.type.kind !== 'dyn');
  if (only !== undefined && sure) return (frame) => only.call(runs.map((run) => run(frame)) as never[]);
  return (frame) => {
    const values = runs.map((run) => run(frame));
    const chosen = overloads.find((overload) => overload.params.every((type, at) => isOfType(values[at], type)));
    if (chosen === undefined) throw noOverload(overloads[0]?.name ?? '', values);
    return chosen.call(values as never[]);
  };
}
