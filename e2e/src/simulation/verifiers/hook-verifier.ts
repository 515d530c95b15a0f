import { Annotations, type Machine, machines, parseTime } from '@mcm/api';
import { type Change, ignoreNotFound, type Node, nodes } from '@mcm/kube';
import type { Dice } from '../script/dice.ts';
import { NAMESPACE, type World } from '../world/world.ts';
import { follow } from './follow.ts';
import { type SimulatedWebhook, WEBHOOK } from './simulated-webhook.ts';

type Stage = 'before-create' | 'after-ready' | 'before-drain' | 'before-delete';

interface Hook {
  readonly stage: Stage;
  readonly name: string;
  readonly timeoutMs: number;
  readonly afterTimeout: 'Continue' | 'Block';
  readonly owner?: typeof WEBHOOK;
}

const MINUTE = 60_000;

const ALL: readonly Hook[] = [
  { stage: 'before-create', name: 'permit', timeoutMs: 2 * MINUTE, afterTimeout: 'Continue' },
  { stage: 'after-ready', name: 'check', timeoutMs: MINUTE, afterTimeout: 'Continue' },
  { stage: 'before-drain', name: 'backup', timeoutMs: 4 * MINUTE, afterTimeout: 'Continue' },
  { stage: 'before-delete', name: 'detach', timeoutMs: MINUTE, afterTimeout: 'Block' },
  { stage: 'before-create', name: 'quota', timeoutMs: 2 * MINUTE, afterTimeout: 'Continue', owner: WEBHOOK },
  { stage: 'before-delete', name: 'snapshot', timeoutMs: MINUTE, afterTimeout: 'Block', owner: WEBHOOK },
];

export const HOOKS = ALL.map(
  ({ stage, name, timeoutMs, afterTimeout, owner = 'owner' }) =>
    `${stage} ${name} ${owner} ${timeoutMs / MINUTE}m ${afterTimeout}`,
).join('; ');

const ENDING: ReadonlySet<string> = new Set(['shutting-down', 'terminated']);

const keyOf = ({ stage, name }: Hook): string => `${stage}.${Annotations.HookSuffix}/${name}`;

const HOOK_OF = new Map(ALL.map((hook) => [keyOf(hook), hook]));

const begunAt = ({ metadata }: Machine, stage: Stage): Date | undefined =>
  parseTime(
    metadata.annotations?.[Annotations.HooksBegun]
      ?.split(',')
      .find((entry) => entry.startsWith(`${stage}=`))
      ?.slice(stage.length + 1),
  );

/**
 * Ends the hooks of machines, as their owners do, and verifies mcm:
 * - Before its `before-create` hook has ended, a machine has no VM.
 * - Before its `after-ready` hook has ended, a machine is not `Running`.
 * - Before the hooks `before-drain` and `before-delete` have ended, no VM is deleted.
 * - The machine controller ends a hook only after its timeout.
 * - If a webhook has finished its step, the machine controller may end the hook earlier.
 */
export class HookVerifier {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #webhook: SimulatedWebhook;
  readonly #machines = new Map<string, Machine>();
  readonly #hooks = new Map<string, 'begun' | 'ended'>();
  readonly #ran = new Set<string>();
  readonly #drains = new Set<string>();
  readonly #nodes = new Set<string>();
  #awayUntil = 0;
  #verified = 0;

  private constructor(world: World, dice: Dice, webhook: SimulatedWebhook) {
    this.#world = world;
    this.#dice = dice;
    this.#webhook = webhook;
  }

  static watch(world: World, dice: Dice, webhook: SimulatedWebhook, signal: AbortSignal): HookVerifier {
    webhook.attach(world);
    const verifier = new HookVerifier(world, dice, webhook);
    follow<Machine>(world, machines, signal, (change) => verifier.#changed(change));
    follow<Node>(world, nodes, signal, ({ type, object: { metadata } }) => {
      if (type === 'deleted') verifier.#nodes.delete(metadata.name);
      else verifier.#nodes.add(metadata.name);
    });
    return verifier;
  }

  get verified(): number {
    return this.#verified;
  }

  away(ms: number): void {
    this.#awayUntil = this.#now + ms;
    this.#webhook.away(this.#awayUntil);
  }

  get #now(): number {
    return this.#world.clock.now().getTime();
  }

  #changed({ type, object }: Change<Machine>): void {
    const { uid } = object.metadata;
    if (type === 'deleted') {
      this.#machines.delete(uid);
      this.#verifyEnd(object);
      return;
    }
    const before = this.#machines.get(uid);
    this.#machines.set(uid, object);
    for (const [key, hook] of HOOK_OF) this.#follow(object, before, key, hook);
    this.#verify(object);
  }

  #follow(machine: Machine, before: Machine | undefined, key: string, hook: Hook): void {
    const id = `${machine.metadata.uid} ${key}`;
    const isPending = machine.metadata.annotations?.[key] !== undefined;
    if (isPending && !this.#hooks.has(id)) {
      this.#hooks.set(id, 'begun');
      if (hook.owner === undefined) this.#endLater(machine, key);
    }
    if (isPending || before?.metadata.annotations?.[key] === undefined) return;
    this.#verified++;
    if (this.#hasEnded(id)) return;
    const since = begunAt(machine, hook.stage)?.getTime() ?? Number.NaN;
    const isExpired = this.#now >= since + hook.timeoutMs;
    if (hook.afterTimeout === 'Block' || !isExpired)
      this.#violate(`the machine controller ended the hook ${key} of ${machine.metadata.name}`);
  }

  #hasEnded(id: string): boolean {
    return this.#hooks.get(id) === 'ended' || this.#webhook.hasFinished(id);
  }

  #endLater(machine: Machine, key: string): void {
    // Some steps take up to 90 s, longer than the shortest timeout of a hook.
    const ms = Math.max(this.#dice.number(1.5 * MINUTE), this.#awayUntil - this.#now);
    this.#world.clock.setTimeout(() => {
      if (this.#now < this.#awayUntil) this.#endLater(machine, key);
      else void this.#end(machine, key).catch((error: unknown) => this.#violate(String(error)));
    }, ms);
  }

  async #end({ metadata: { name, uid } }: Machine, key: string): Promise<void> {
    const machine = this.#machines.get(uid);
    if (machine?.metadata.annotations?.[key] === undefined) return;
    this.#verify(machine);
    this.#hooks.set(`${uid} ${key}`, 'ended');
    const body = { metadata: { uid, annotations: { [key]: null } } };
    await ignoreNotFound(this.#world.admin.resource<Machine>(machines, NAMESPACE).patch(name, { type: 'merge', body }));
  }

  #mayPass(machine: Machine, stage: Stage): boolean {
    const since = begunAt(machine, stage)?.getTime();
    if (since === undefined) return false;
    return [...HOOK_OF].every(([key, hook]) => {
      if (hook.stage !== stage || machine.metadata.annotations?.[key] === undefined) return true;
      const isExpired = hook.afterTimeout === 'Continue' && this.#now >= since + hook.timeoutMs;
      return isExpired || this.#hasEnded(`${machine.metadata.uid} ${key}`);
    });
  }

  #verify(machine: Machine): void {
    const { uid, name, deletionTimestamp } = machine.metadata;
    const phase = machine.status?.currentStatus?.phase;
    if (phase === 'Running' && !this.#mayPass(machine, 'after-ready'))
      this.#violate(`${name} is Running before its after-ready hook has ended`);
    if (!this.#world.cloudRuns) return;
    const hasVm = [...this.#world.cloud.instances.list()].some((vm) => vm.name === name && !ENDING.has(vm.state));
    if (!hasVm) {
      this.#verifyEnd(machine);
      return;
    }
    this.#ran.add(uid);
    if (deletionTimestamp !== undefined && this.#nodes.has(name)) this.#drains.add(uid);
    if (!this.#mayPass(machine, 'before-create'))
      this.#violate(`${name} has a VM before its before-create hook has ended`);
  }

  #verifyEnd(machine: Machine): void {
    const { uid, name, deletionTimestamp } = machine.metadata;
    if (!this.#ran.has(uid) || deletionTimestamp === undefined) return;
    const stages = this.#drains.has(uid) ? (['before-drain', 'before-delete'] as const) : (['before-delete'] as const);
    for (const stage of stages)
      if (!this.#mayPass(machine, stage))
        this.#violate(`the VM of ${name} no longer exists, but its ${stage} hook has not ended`);
  }

  #violate(text: string): void {
    this.#world.reporter.violate(text);
  }
}
