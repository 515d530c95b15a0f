import { Annotations, DELETION_STEPS, Labels, type Machine, machines, parseStep } from '@mcm/api';
import type { KubeObject, ObserveDecisions } from '@mcm/kube';
import { withoutUndefined } from '@mcm/kube';
import type { Instance } from '../contract/driver.ts';
import type { DriverDefinition } from '../schemas/define-driver.ts';

type Change = 'create' | 'initialize' | 'stop' | 'start' | 'delete';

const stored = (
  object: KubeObject,
): Pick<Machine, 'metadata' | 'status'> & { readonly spec?: Partial<Machine['spec']> } => object;

const isPastVm = (description: string | undefined): boolean => {
  const step = parseStep(description);
  return step !== undefined && DELETION_STEPS.indexOf(step) > DELETION_STEPS.indexOf('deleteVm');
};

/**
 * Wraps a driver for the observe mode: the wrapper reads from the cloud but changes nothing. The wrapper records a
 * driver call that changes the cloud. This call stays pending until the active controller has made the change. The
 * wrapper has no method `tag`, because no object of the cluster shows a change of tags.
 */
export function observingDriver<Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  budget: ObserveDecisions,
): DriverDefinition<Spec, Credentials> {
  const follow = async (verb: Change, { metadata: { namespace, name, uid } }: Machine, signal: AbortSignal) => {
    const shows = (object: KubeObject, deleted: boolean): boolean => {
      const { metadata, spec, status } = stored(object);
      const power = metadata.annotations?.[Annotations.WarmPower];
      if (verb === 'delete') return deleted || isPastVm(status?.lastOperation?.description);
      if (verb === 'stop') return !deleted && power === 'Stopped';
      if (verb === 'start') return !deleted && power === undefined;
      return !deleted && Boolean(spec?.providerID);
    };
    const decision = {
      what: `${verb} vm`,
      resource: machines.plural,
      object: `${namespace}/${name}`,
      content: uid,
      done: (object: KubeObject, deleted: boolean) => object.metadata.uid === uid && shows(object, deleted),
    };
    return stored(await budget.follow(decision, signal));
  };
  const made = async (verb: Change, machine: Machine, signal: AbortSignal): Promise<Instance> => {
    const { metadata, spec } = await follow(verb, machine, signal);
    return { providerId: spec?.providerID ?? '', nodeName: metadata.labels?.[Labels.Node] ?? metadata.name };
  };
  const initialize: typeof driver.initialize =
    driver.initialize && (({ machine, signal }) => made('initialize', machine, signal));
  const stop: typeof driver.stop =
    driver.stop && (async ({ machine, signal }) => void (await follow('stop', machine, signal)));
  const start: typeof driver.start =
    driver.start && (async ({ machine, signal }) => void (await follow('start', machine, signal)));
  const { tag: _, ...others } = driver;
  return {
    ...others,
    create: ({ machine, signal }) => made('create', machine, signal),
    delete: async ({ machine, signal }) => {
      await follow('delete', machine, signal);
      return undefined;
    },
    ...withoutUndefined({ initialize, stop, start }),
  };
}
