import type { Action, Step } from './actions.ts';
import type { MachineMapping } from './machine-mapping.ts';
import type { Recorded } from './recordings/recording.ts';
import { put, type Uids } from './stage/load.ts';
import type { Stage } from './stage/stage.ts';

export async function replayActions(
  stage: Stage,
  mapping: MachineMapping,
  steps: readonly Step[],
  uids: Uids,
): Promise<void> {
  for (const { at, actions } of steps) {
    if (actions.length === 0) continue;
    await stage.reach(at);
    for (const action of actions) await act(stage, mapping, action, uids);
  }
}

async function act(stage: Stage, mapping: MachineMapping, action: Action, uids: Uids): Promise<void> {
  if (action.do === 'create') {
    await put(stage, await mapping.rename(action.object), uids, action.object.kind === 'Pod');
    return;
  }
  if (action.do === 'merge' && action.awaits) await mapping.awaitAgent(action.name, action.awaits);
  const isNamedByUs = action.kind === 'Machine' || action.kind === 'Node';
  const name = isNamedByUs ? await mapping.nameOf(action.name) : action.name;
  const resource = stage.resource(action.kind, action.namespace);
  if (action.do === 'delete') {
    const grace = action.now ? { gracePeriodSeconds: 0 } : {};
    await resource.delete(name, { propagationPolicy: 'Background', ...grace });
  } else if (action.do === 'conditions') {
    const body = { status: { conditions: await withOthers(stage, name, action.conditions) } };
    await resource.patch(name, { type: 'merge', body }, { subresource: 'status' });
  } else await resource.patch(name, { type: 'merge', body: (await mapping.rename(action.body)) as object });
}

async function withOthers(stage: Stage, node: string, said: readonly { readonly type: string }[]): Promise<object[]> {
  const { status } = (await stage.resource('Node').get(node)) as Recorded as {
    status?: { conditions?: readonly { readonly type: string }[] };
  };
  const types = new Set(said.map(({ type }) => type));
  return [...said, ...(status?.conditions ?? []).filter(({ type }) => !types.has(type))];
}
