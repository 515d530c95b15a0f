import { Annotations, type Machine } from '@mcm/api';
import { phaseOf } from '@mcm/conformance/fleet';
import { keyOf, type Node } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import { LOST_AFTER_MS } from './hollow-nodes.ts';
import { DRAIN_TIMEOUT_MS, type MachineWorld } from './machine-world.ts';
import { StatusVerifier } from './status-verifier.ts';

const MINUTE = 60_000;

const isGoing = ({ metadata }: Machine): boolean => metadata.deletionTimestamp !== undefined;
const saidBy = (machine: Machine): string => machine.status?.lastOperation?.description ?? '';

export class FinalChecks {
  readonly #world: MachineWorld;
  readonly #status: StatusVerifier;

  constructor(world: MachineWorld) {
    this.#world = world;
    this.#status = new StatusVerifier(world.clock, world.cache);
  }

  async verify(silenced: boolean, cutMs: number): Promise<void> {
    const { network } = this.#world;
    await this.#calm(silenced || network.silencesWatches);
    if (cutMs > BOUNDS.frozen.ms || network.losesAnswers) await this.#world.clock.advance(BOUNDS.thawed.ms);
    await this.#promptBesideStuck();
    await this.#quiet();
    await this.#followsHealth();
    await this.#end();
  }

  /** Removes all faults from the simulation. */
  async #calm(silenced: boolean): Promise<void> {
    const world = this.#world;
    world.network.calm();
    await world.breakSecret(false);
    world.cloud.faults.clear();
    world.skew(0);
    world.killOldest();
    await world.removeOtherFinalizers();
    for (const name of world.hollow.names) world.hollow.silence(name, false);
    await world.clock.advance(silenced ? BOUNDS.machinesReopened.ms : BOUNDS.reconnected.ms);
    await this.#until(
      'every machine is Running or Failed, or reports the cause of its wait',
      () => {
        const open = world.machines().filter((machine) => !isGoing(machine) && !this.#isAtRest(machine));
        const withoutStatus = world
          .machines()
          .filter((machine) => isGoing(machine) && !/Waiting: /.test(saidBy(machine)));
        const described = [...open, ...withoutStatus].map(
          (each) => `${each.metadata.name}: ${phaseOf(each)}, ${saidBy(each)}`,
        );
        return [...described, ...this.#strays()];
      },
      world.verifier.hasLost ? BOUNDS.orphanGone.ms : BOUNDS.atRest.ms,
    );
  }

  /**
   * Returns true if no change of a machine is expected.
   * - If many machines are unreachable at the same time, mcm replaces none of them, and writes an event for each.
   * - With `--max-unhealthy-replacements`, an unreachable machine waits until another Failed machine is replaced.
   */
  #isAtRest(machine: Machine): boolean {
    const phase = phaseOf(machine);
    if (phase !== 'Unknown') return phase === 'Running' || phase === 'Failed';
    return this.#world.held.has(machine.metadata.name) || /^Waiting: /.test(saidBy(machine));
  }

  /** Returns true if only the node controller of the cloud would delete a Node. */
  #isCloudsOwn({ metadata, spec }: Node): boolean {
    const id = spec.providerID?.split('/').at(-1);
    const lives = [...this.#world.cloud.instances.list()].some((vm) => vm.id === id && vm.state === 'running');
    return metadata.annotations?.[Annotations.NotManagedByMCM] !== undefined && !lives;
  }

  /** Rule (b): returns VMs and Nodes that have no Machine. */
  #strays(): string[] {
    const all = this.#world.machines();
    const uids = new Set(all.map(({ metadata }) => metadata.uid));
    const nodes = new Set(all.map(({ metadata }) => metadata.labels?.node ?? metadata.name));
    return [
      ...[...this.#world.vms()].flatMap(([uid, name]) => (uids.has(uid) ? [] : [`(b) VM ${name} has no Machine`])),
      ...this.#world.cache.nodes.store
        .list()
        .filter((node) => !nodes.has(node.metadata.name) && !this.#isCloudsOwn(node))
        .map(({ metadata }) => `(b) Node ${metadata.name} has no Machine`),
    ];
  }

  async #until(what: string, missing: () => readonly string[], maxMs = BOUNDS.atRest.ms): Promise<number> {
    const { clock, reporter } = this.#world;
    const done = (): boolean => {
      for (const text of this.#status.look()) reporter.violate(`(f) ${text}`);
      return missing().length === 0;
    };
    try {
      return await clock.runUntil(done, { maxMs });
    } catch {
      reporter.violate(`timeout after ${maxMs} ms: ${what}; ${missing().join('; ')}`);
      return maxMs;
    }
  }

  /**
   * Rule (g): mcm creates and deletes a machine without delay, although one drain never ends and one cloud request has
   * no response.
   */
  async #promptBesideStuck(): Promise<void> {
    const world = this.#world;
    const { clock, hollow } = world;
    await world.createApp({ name: 'held', replicas: 1, volumes: false, minAvailable: 1 });
    await clock.advance(5_000);
    const held = world.cache.pods.store.list().find(({ metadata }) => metadata.labels?.app === 'held');
    const stuck = world.machines().find(({ metadata }) => metadata.labels?.node === held?.spec.nodeName);
    const begins = stuck && !isGoing(stuck) && phaseOf(stuck) === 'Running';
    if (stuck && !isGoing(stuck)) await world.deleteMachine(stuck.metadata.name);
    if (begins) await this.#quietWhileBlocked(stuck.metadata.name);
    world.cloud.faults.order({ operation: 'instances.*', instance: 'hangs', timeout: {} });
    await world.createMachine('hangs', { creationTimeout: '2h' });
    await clock.advance(1_000);
    // While a zone has no capacity, all machines of a class wait, so this machine has a different class.
    await world.createMachine('prompt', { class: { kind: 'MachineClass', name: 'green' } });
    const prompt = () => world.machines().find(({ metadata }) => metadata.name === 'prompt');
    const isRunning = () => (phaseOf(prompt()) === 'Running' ? [] : [phaseOf(prompt())]);
    await this.#until(
      '(g) mcm creates a machine while the drains of other machines are blocked',
      isRunning,
      hollow.joinDelayMs + BOUNDS.prompt.ms,
    );
    const empty = world.cache.pods.store.byIndex('node', 'prompt').length === 0;
    await world.deleteMachine('prompt');
    const isGone = () => (prompt() ? [saidBy(prompt() as Machine)] : []);
    const maxMs = empty ? BOUNDS.prompt.ms : DRAIN_TIMEOUT_MS + MINUTE;
    await this.#until('(g) mcm deletes a machine while the drains of other machines are blocked', isGone, maxMs);
    world.cloud.faults.clear();
  }

  /** Rules (f) and (i): if a disruption budget blocks a drain, the controller reports the blocked drain only once. */
  async #quietWhileBlocked(name: string): Promise<void> {
    const { clock, writes, reporter, cache } = this.#world;
    await clock.advance(60_000);
    const written = writes.length;
    if (cache.pods.store.byIndex('node', name).some((pod) => cache.volumesOf(pod).length > 0)) return;
    const said = this.#world.machines().filter((machine) => machine.metadata.name === name && isGoing(machine));
    for (const machine of said.filter((each) => !/Waiting: \S|Drain failed due to - /.test(saidBy(each))))
      reporter.violate(`(f) ${name} waits for a disruption budget but does not report this wait: ${saidBy(machine)}`);
    const podsOf = (): string => String(cache.pods.store.byIndex('node', name).map(({ metadata }) => metadata.uid));
    const before = podsOf();
    await clock.advance(BOUNDS.blocked.ms);
    // If another machine has joined during the wait, mcm may evict pods again, so the check ends here.
    if (podsOf() !== before) return;
    const about = writes.slice(written).filter((write) => write.split('/').includes(name));
    for (const write of about) reporter.violate(`(i) the controller sent a write that changes nothing: ${write}`);
  }

  async #quiet(): Promise<void> {
    const world = this.#world;
    await world.clock.advance(DRAIN_TIMEOUT_MS + 10 * MINUTE);
    const written = world.writes.length;
    await world.clock.advance(BOUNDS.quiet.ms);
    for (const write of world.writes.slice(written))
      world.reporter.violate(`(i) a controller sent a write although nothing had to change: ${write}`);
  }

  async #followsHealth(): Promise<void> {
    const { hollow } = this.#world;
    const machine = this.#world
      .machines()
      .find((each) => !isGoing(each) && phaseOf(each) === 'Running' && hollow.names.includes(each.metadata.name));
    if (!machine) return;
    const { name } = machine.metadata;
    const phase = (): string =>
      phaseOf(this.#world.machines().find(({ metadata }) => metadata.uid === machine.metadata.uid));
    const is = (wanted: string) => () => (phase() === wanted ? [] : [`${name}: ${phase()}`]);
    hollow.silence(name, true);
    const unknown = '(j) a machine becomes Unknown when its kubelet stops';
    await this.#until(unknown, is('Unknown'), LOST_AFTER_MS + BOUNDS.noticed.ms);
    hollow.silence(name, false);
    await this.#until('(j) a machine becomes Running when its kubelet reports again', is('Running'), BOUNDS.noticed.ms);
  }

  /** Creates a machine whose VM never joins. */
  async #createUnjoined(): Promise<void> {
    const { cloud, clock } = this.#world;
    cloud.faults.order({ operation: 'instances.boot', kubelet: { join: 'never' }, count: 1 });
    await this.#world.createMachine('unjoined', { creationTimeout: '2h' });
    await clock.advance(5_000);
  }

  /** Rules (b) and (f): all machines are deleted before their timeouts expire, and nothing is left. */
  async #end(): Promise<void> {
    const world = this.#world;
    // The API server rounds creation times down to seconds.
    const since = Math.floor(world.clock.now().getTime() / 1_000) * 1_000;
    await this.#createUnjoined();
    for (const machine of world.machines()) {
      if (!isGoing(machine)) await world.deleteMachine(machine.metadata.name);
    }
    await this.#until(
      '(f) mcm deletes every machine and its objects before the deadline of the drain',
      () => [...world.machines().map((each) => `${each.metadata.name}: ${saidBy(each)}`), ...this.#strays()],
      DRAIN_TIMEOUT_MS + 5 * MINUTE,
    );
    const late = world.cache.tokens.store
      .list()
      .filter(({ metadata }) => Date.parse(metadata.creationTimestamp) >= since);
    const left = () =>
      late
        .filter(({ metadata }) => world.cache.tokens.store.get(keyOf({ metadata })))
        .map(({ metadata }) => metadata.name);
    await this.#until(
      '(b) mcm deletes the bootstrap token together with the machine',
      left,
      BOUNDS.tokenWithMachine.ms,
    );
    // If the deletion of a token has failed, a later cleanup deletes the expired token.
    const tokens = () => world.cache.tokens.store.list().map(({ metadata }) => `token ${metadata.name} still exists`);
    await this.#until('mcm deletes a bootstrap token soon after its machine', tokens, BOUNDS.tokenGone.ms);
    for (const leak of await world.leaks()) world.reporter.violate(`(h) ${leak}`);
  }
}
