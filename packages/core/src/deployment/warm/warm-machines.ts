import {
  Annotations,
  EventReasons,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machines as machineResource,
  Taints,
} from '@mcm/api';
import {
  controllerOf,
  type Draft,
  errorText,
  ignoreNotFound,
  isAlreadyExists,
  isConflict,
  type ResourceClient,
} from '@mcm/kube';
import { BY_CONTROLLER, type ControllerContext } from '../../control/caches.ts';
import { mayHaveHappened, settled } from '../../flow/answers.ts';
import { inParallel, slowStart } from '../../flow/slow-start.ts';
import { controllerReference } from '../../objects/claim.ts';
import { randomSuffix } from '../../objects/machine-names.ts';
import { isTerminating } from '../../objects/machines.ts';
import { splitSets } from '../../rollout/revisions.ts';
import { hashOfSet } from '../../rollout/template-hash.ts';
import { newMachine } from '../../set/replicas/new-machine.ts';
import { listed } from '../../values/texts.ts';
import { type WarmSetting, warmSettingOf, warmStateOf } from '../../warm/warm-machine.ts';
import { planWarmPool, type WarmPlan } from './warm-plan.ts';

const PARALLEL = 32;
const NAMES_IN_EVENT = 10;

/**
 * A deployment owns its warm machines. Warm machines lack the labels of the template, so that no MachineSet counts or
 * replaces them.
 */
export function warmMachine(
  deployment: MachineDeployment,
  set: MachineSet,
  name: string,
  state: WarmSetting['state'],
): Draft<Machine> {
  const { metadata, spec, ...rest } = newMachine(set, name);
  const { labels: _, ...others } = metadata;
  const { nodeTemplate } = spec;
  const taints = [...(nodeTemplate?.spec?.taints ?? []), { ...Taints.Warm }];
  return {
    ...rest,
    metadata: {
      ...others,
      annotations: {
        ...metadata.annotations,
        [Annotations.WarmState]: state,
        [Annotations.WarmTemplate]: hashOfSet(set) ?? '',
      },
      ownerReferences: [controllerReference(deployment as MachineDeployment & { kind: string })],
    },
    spec: { ...spec, nodeTemplate: { ...nodeTemplate, spec: { ...nodeTemplate?.spec, taints } } },
  };
}

export class WarmMachines {
  readonly #context: ControllerContext;
  readonly #client: ResourceClient<Machine>;
  /** For each deployment, the names of the machines whose create request has an unknown result. */
  readonly #unanswered = new Map<string, Set<string>>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#client = context.client.resource(machineResource, context.namespace);
    // An event of a machine proves that its creation succeeded, even if the response was lost.
    context.machines.onChange(({ object }) => {
      this.#unanswered.get(controllerOf(object)?.uid ?? '')?.delete(object.metadata.name);
    });
  }

  of({ metadata }: MachineDeployment): readonly Machine[] {
    return this.#context.machines.store
      .byIndex(BY_CONTROLLER, metadata.uid)
      .filter((machine) => warmStateOf(machine) !== undefined);
  }

  concern(deployment: MachineDeployment): boolean {
    return warmSettingOf(deployment) !== undefined || this.of(deployment).length > 0;
  }

  async reconcile(deployment: MachineDeployment, signal: AbortSignal): Promise<void> {
    const warm = this.of(deployment);
    const { machines, sets, log } = this.#context;
    const { name, uid } = deployment.metadata;
    const { current, old } = splitSets(deployment, sets.store.byIndex(BY_CONTROLLER, uid));
    const own = current ? machines.store.byIndex(BY_CONTROLLER, current.metadata.uid) : [];
    const alive = own.filter((machine) => !isTerminating(machine)).length;
    const plan = planWarmPool({ deployment, current, old, warm, alive });
    if (plan.create + plan.remove.length === 0) return;
    log.info('Warm machines', { deployment: name, because: plan.because });
    await this.delete(deployment, plan.remove, signal);
    if (current) await this.#create(deployment, current, plan, signal);
  }

  async #create(deployment: MachineDeployment, set: MachineSet, plan: WarmPlan, signal: AbortSignal): Promise<void> {
    const made: string[] = [];
    const unanswered = this.#unansweredOf(deployment);
    const task = async (name: string) => {
      unanswered.add(name);
      const draft = warmMachine(deployment, set, name, plan.state);
      const machine = await this.#createOne(name, draft, unanswered, signal);
      unanswered.delete(name);
      this.#context.machines.recordWrite(machine);
      made.push(name);
    };
    const { error } = await slowStart(this.#namesFor(deployment, set, plan.create), task, { wanted: () => true });
    if (unanswered.size === 0) this.#unanswered.delete(deployment.metadata.uid);
    this.#say(deployment, 'SuccessfulCreate', 'Created', made);
    if (error === undefined) return;
    this.#context.recorder.event(
      deployment,
      'Warning',
      EventReasons.FailedCreate,
      `Error creating: ${errorText(error)}`,
    );
    throw error;
  }

  #unansweredOf({ metadata: { uid } }: MachineDeployment): Set<string> {
    const known = this.#unanswered.get(uid) ?? new Set();
    this.#unanswered.set(uid, known);
    return known;
  }

  /**
   * Names of create requests without a response come first, so that a repeated request never creates an additional
   * machine. A new machine must not have the name of an earlier machine, so new names are random.
   */
  #namesFor(deployment: MachineDeployment, { metadata: { name } }: MachineSet, count: number): readonly string[] {
    const open = this.#unansweredOf(deployment);
    for (const each of open) if (!each.startsWith(`${name}-w`)) open.delete(each);
    const fresh = Array.from({ length: count }, () => `${name}-w${randomSuffix(this.#context.random)}`);
    return [...open, ...fresh].slice(0, count);
  }

  /** The machine may already exist, because a response was lost or the cache is outdated. */
  async #createOne(
    name: string,
    draft: Draft<Machine>,
    unanswered: Set<string>,
    signal: AbortSignal,
  ): Promise<Machine> {
    try {
      return await this.#client.create(draft, { signal });
    } catch (error) {
      if (isAlreadyExists(error)) {
        unanswered.delete(name);
        return this.#client.get(name, { signal });
      }
      const found = mayHaveHappened(error) ? await settled(this.#client.get(name, { signal })) : undefined;
      if (found === undefined) throw error;
      return found;
    }
  }

  /** The resource version in the delete request protects a warm machine that a set has taken in the meantime. */
  async delete(deployment: MachineDeployment, toDelete: readonly Machine[], signal: AbortSignal): Promise<void> {
    const gone: string[] = [];
    const errors = await inParallel(toDelete, PARALLEL, async ({ metadata: { name, uid, resourceVersion = '' } }) => {
      const options = { preconditions: { uid, resourceVersion }, signal };
      const lingering = await ignoreNotFound(this.#client.delete(name, options));
      if (lingering !== undefined) this.#context.machines.recordWrite(lingering);
      gone.push(name);
    });
    this.#say(deployment, 'SuccessfulDelete', 'Deleted', gone.sort());
    const failure = errors.find((error) => !isConflict(error)) ?? errors[0];
    if (failure !== undefined) throw failure;
  }

  #say(
    deployment: MachineDeployment,
    reason: 'SuccessfulCreate' | 'SuccessfulDelete',
    verb: string,
    names: readonly string[],
  ): void {
    if (names.length === 0) return;
    const what = names.length === 1 ? 'warm Machine' : `${names.length} warm Machines`;
    this.#context.recorder.event(deployment, 'Normal', reason, `${verb} ${what}: ${listed(names, NAMES_IN_EVENT)}`);
  }
}
