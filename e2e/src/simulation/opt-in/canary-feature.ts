import {
  Annotations,
  Labels,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type Change, controllerOf, ignoreNotFound, type Node, nodes, type Pod, pods } from '@mcm/kube';
import { PodAnnotations } from '@mcm/provider-local';
import { BOUNDS } from '../record/bounds.ts';
import type { Dice } from '../script/dice.ts';
import { follow } from '../verifiers/follow.ts';
import { NAMESPACE, type World } from '../world/world.ts';
import type { Feature, FeatureWish, OptIn } from './feature.ts';

const SOAK_MS = 120_000;
/** The verifier ignores a pod for this time after its creation. */
const START_MS = SOAK_MS / 2;
const REPLICAS = 3;
const NEVER = '1000h';
const SOON = '0s';
const OTHER: Readonly<Record<string, string>> = { blue: 'green', green: 'blue' };

interface Seen {
  readonly pod: Pod;
  readonly createdAt: number;
  readonly unreadySince: number | undefined;
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;

/**
 * Creates a pod on each node. These decisions about canaries are reported as wrong:
 * - After the soak time, the set of a canary grows although a pod of the canary is not Ready.
 * - The manager records that all pods of the canaries are Ready although one of them is not.
 * - Without faults, a rollout continues although the pod of a canary is not Ready.
 */
class CanaryFeature implements Feature {
  readonly maxWaitMs = 2 * SOAK_MS;
  readonly #world: World;
  readonly #undoes: boolean;
  readonly #pods = new Map<string, Seen>();
  readonly #machines = new Map<string, { readonly machine: Machine; readonly runsSince: number | undefined }>();
  readonly #sets = new Map<string, { readonly set: MachineSet; readonly ownsSince: number | undefined }>();
  #deployment: MachineDeployment | undefined;
  #templateAt = Number.NEGATIVE_INFINITY;
  #isBroken = false;
  #verified = 0;

  constructor(world: World, undoes: boolean, signal: AbortSignal) {
    this.#world = world;
    this.#undoes = undoes;
    follow<Node>(world, nodes, signal, (change) => this.#nodeChanged(change));
    follow<Pod>(world, pods, signal, (change) => this.#podChanged(change));
    follow<Machine>(world, machines, signal, (change) => this.#machineChanged(change));
    follow<MachineSet>(world, machineSets, signal, (change) => this.#setChanged(change));
    follow<MachineDeployment>(world, machineDeployments, signal, ({ object }) => this.#deploymentChanged(object));
  }

  get verified(): number {
    return this.#verified;
  }

  get #now(): number {
    return this.#world.clock.now().getTime();
  }

  async act(dice: Dice, wish: FeatureWish): Promise<void> {
    const choice = dice.number(5);
    // The rollout must still have machines to replace after the canary, so the deployment needs several replicas.
    if (wish.replicas < REPLICAS) await this.#scale(wish, REPLICAS + dice.number(2));
    if (choice === 0) return this.#heal();
    this.#isBroken = choice > 1;
    this.#world.reporter.note('act', `the pods of new nodes ${this.#isBroken ? 'never become' : 'become'} Ready`);
  }

  async calm(wish: FeatureWish): Promise<void> {
    this.#isBroken = false;
    await this.#heal();
    await this.#insist(wish);
  }

  /** Requests the class repeatedly, because a machine that failed earlier can still pause or undo the rollout. */
  async #insist(wish: FeatureWish): Promise<void> {
    await this.#request(wish);
    const again = (): void => {
      if (this.#isAtRest) return;
      void this.#request(wish).catch((error: unknown) => this.#world.reporter.violate(String(error)));
      this.#world.clock.setTimeout(again, 2 * SOAK_MS);
    };
    this.#isAtRest = false;
    again();
  }

  #isAtRest = false;

  async #request({ machineClass }: FeatureWish): Promise<void> {
    const { spec } = await this.#world.deployment();
    if (!spec.paused && spec.template.spec.class.name === machineClass) return;
    await this.#world.change({ paused: false, template: { spec: { class: { name: machineClass } } } });
  }

  async verifyTimely(wish: FeatureWish): Promise<void> {
    const world = this.#world;
    this.#isAtRest = true;
    await this.#scale(wish, REPLICAS);
    await world.untilAllSettled([wish], BOUNDS.settled.ms);
    await world.clock.advance(BOUNDS.lastWrites.ms);
    this.#isBroken = true;
    world.reporter.note('act', 'the pods of new nodes never become Ready');
    const former = wish.machineClass;
    await world.change({ template: { spec: { class: { name: OTHER[former] ?? former } } } });
    await world.clock.advance(BOUNDS.canaryStopped.ms);
    const { metadata, spec } = await world.deployment();
    const isStopped = this.#undoes
      ? spec.template.spec.class.name === former
      : spec.paused === true && metadata.annotations?.[Annotations.RolloutPausedBy] !== undefined;
    if (!isStopped) world.reporter.violate('the pods of a canary are not Ready, but the rollout continues');
    this.#isBroken = false;
    await this.#heal();
    await this.#request(wish);
    await world.untilAllSettled([wish], BOUNDS.settled.ms);
    wish.machineClass = OTHER[former] ?? former;
    await this.#insist(wish);
  }

  async #scale(wish: FeatureWish, replicas: number): Promise<void> {
    wish.replicas = replicas;
    await this.#world.change({ replicas });
  }

  async verifyEnd(): Promise<void> {
    const { metadata, spec } = await this.#world.deployment();
    if (spec.paused) this.#world.reporter.violate(`the deployment ${metadata.name} is paused without a cause`);
  }

  async #heal(): Promise<void> {
    this.#world.reporter.note('act', 'all pods become Ready');
    const resource = this.#world.admin.resource<Pod>(pods, NAMESPACE);
    const body = { metadata: { annotations: { [PodAnnotations.ReadyAfter]: SOON } } };
    for (const { pod } of [...this.#pods.values()])
      await ignoreNotFound(resource.patch(pod.metadata.name, { type: 'merge', body }));
  }

  #nodeChanged({ type, object }: Change<Node>): void {
    if (type !== 'added') return;
    const { name, uid } = object.metadata;
    const annotations = { [PodAnnotations.ReadyAfter]: this.#isBroken ? NEVER : SOON };
    const created = this.#world.admin.resource<Pod>(pods, NAMESPACE).create({
      metadata: { name: `app-${uid}`, namespace: NAMESPACE, annotations },
      spec: { nodeName: name, containers: [{ name: 'main', image: 'pause' }], terminationGracePeriodSeconds: 1 },
    });
    void created.catch((error: unknown) => this.#world.reporter.violate(`the simulation failed: ${String(error)}`));
  }

  #podChanged({ type, object }: Change<Pod>): void {
    const { uid, deletionTimestamp } = object.metadata;
    const before = this.#pods.get(uid);
    if (type === 'deleted' || deletionTimestamp !== undefined) {
      this.#pods.delete(uid);
      return;
    }
    const unreadySince = isReady(object) ? undefined : (before?.unreadySince ?? this.#now);
    this.#pods.set(uid, { pod: object, createdAt: before?.createdAt ?? this.#now, unreadySince });
  }

  #machineChanged({ type, object }: Change<Machine>): void {
    const { uid } = object.metadata;
    const before = this.#machines.get(uid);
    if (type === 'deleted') {
      this.#machines.delete(uid);
      return;
    }
    const runs = object.status?.currentStatus?.phase === 'Running' && !object.metadata.deletionTimestamp;
    this.#machines.set(uid, { machine: object, runsSince: runs ? (before?.runsSince ?? this.#now) : undefined });
  }

  #deploymentChanged(deployment: MachineDeployment): void {
    const before = this.#deployment;
    this.#deployment = deployment;
    if (before?.spec.template.spec.class.name !== deployment.spec.template.spec.class.name)
      this.#templateAt = this.#now;
    const seen = deployment.metadata.annotations?.[Annotations.RolloutCanaryPodsSeen];
    if (seen === undefined || seen === before?.metadata.annotations?.[Annotations.RolloutCanaryPodsSeen]) return;
    this.#verified++;
    const [unready] = this.#unreadyOf(seen);
    if (unready !== undefined)
      this.#world.reporter.violate(
        `the manager records that the pods of ${seen} are Ready, but pod ${unready} is not Ready`,
      );
  }

  #setChanged({ type, object }: Change<MachineSet>): void {
    const { uid, name } = object.metadata;
    const before = this.#sets.get(uid);
    if (type === 'deleted') {
      this.#sets.delete(uid);
      return;
    }
    const size = object.spec.replicas ?? 0;
    const ownsSince = size > 0 ? (before?.ownsSince ?? this.#now) : undefined;
    this.#sets.set(uid, { set: object, ownsSince });
    const grows = before !== undefined && size > (before.set.spec.replicas ?? 0) && size > 1;
    if (!grows || !this.#isObserved(object)) return;
    const [unready] = this.#unreadyOf(name);
    if (unready !== undefined)
      this.#world.reporter.violate(
        `set ${name} grows to ${size} machines, but pod ${unready} of its canary is not Ready`,
      );
  }

  get #knownAt(): number {
    return this.#now - this.#world.network.lagMs('manager', 'machinedeployments', 'machinesets', 'machines');
  }

  #isObserved({ metadata, spec }: MachineSet): boolean {
    const deployment = this.#deployment;
    const annotations = deployment?.metadata.annotations ?? {};
    if (deployment?.spec.template.spec.class.name !== spec.template.spec.class.name) return false;
    if (this.#templateAt > this.#knownAt || annotations[Annotations.RolloutLastGood] === metadata.name) return false;
    if (annotations[Annotations.RolloutCanaryPodsSeen] === metadata.name) return false;
    return [...this.#sets.values()].some(
      ({ set, ownsSince }) => set.metadata.uid !== metadata.uid && ownsSince !== undefined && ownsSince < this.#knownAt,
    );
  }

  #unreadyOf(setName: string): readonly string[] {
    const knownAt = this.#knownAt - BOUNDS.canaryRead.ms;
    const noted = this.#deployment?.metadata.annotations?.[Annotations.RolloutPausedBy]?.split(',') ?? [];
    const onNodes = new Set(
      [...this.#machines.values()].flatMap(({ machine, runsSince }) => {
        const { name, uid, labels } = machine.metadata;
        const counts = controllerOf(machine)?.name === setName && runsSince !== undefined && runsSince < knownAt;
        return counts && !noted.includes(`${name}~${uid}`) ? [labels?.[Labels.Node] ?? ''] : [];
      }),
    );
    return [...this.#pods.values()].flatMap(({ pod, createdAt, unreadySince }) => {
      const isOld = createdAt + START_MS < knownAt && unreadySince !== undefined && unreadySince < knownAt;
      return isOld && onNodes.has(pod.spec.nodeName ?? '') ? [pod.metadata.name] : [];
    });
  }
}

export const canaryOptIn = (seed: number): OptIn => ({
  options: {
    annotations: {
      [Annotations.RolloutCanary]: '1',
      [Annotations.RolloutCanarySoak]: `${SOAK_MS / 1_000}s`,
      [Annotations.RolloutCanaryPodsReady]: 'true',
      [seed % 2 === 1 ? Annotations.RolloutUndoOnFailure : Annotations.RolloutPauseOnFailure]: 'true',
    },
    // If the controllers have separate ServiceAccounts, the manager has no permission to list pods.
    isSeparate: false,
  },
  watch: (world, signal) => new CanaryFeature(world, seed % 2 === 1, signal),
});
