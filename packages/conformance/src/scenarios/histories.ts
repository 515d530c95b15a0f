import type { Machine } from '@mcm/api';
import type { Instance } from '@mcm/core';
import { type Random, seededRandom } from '@mcm/kube';
import { expect } from '../stage/outcome.ts';
import type { Scenario } from '../stage/scenario.ts';
import type { Process, Stage } from '../stage/stage.ts';
import type { RequestOutcome } from '../stage/wire.ts';

const ACTS = 14;
const MAX_PAUSE_MS = 120_000;
const FAULTS_PERCENT = 25;

interface Member {
  machine: Machine;
  providerId?: string;
  leaves: boolean;
}

/**
 * Runs random driver calls with random faults. The faults of a history are lost responses, throttled requests, and
 * kills of the controller between two requests. At the end of a history, the faults stop, and the controller repeats
 * the calls until all machines reach their goal.
 */
class History {
  readonly #stage: Stage;
  readonly #dice: Random;
  readonly #members: Member[] = [];
  readonly #story: string[] = [];
  #process: Process;

  constructor(stage: Stage, seed: number) {
    this.#stage = stage;
    this.#dice = seededRandom(seed);
    this.#process = this.#newProcess();
  }

  #number(below: number): number {
    return Math.floor(this.#dice.next() * below);
  }

  #newProcess(): Process {
    const process = this.#stage.process();
    process.wire.assess = () => this.#fault();
    return process;
  }

  #fault(): RequestOutcome {
    if (this.#number(100) >= FAULTS_PERCENT) return 'passes';
    const { throttled, exhausted } = this.#stage.target.dialect;
    const faults: readonly RequestOutcome[] = ['breaks', 'answer lost', 'answer lost', throttled, exhausted];
    return faults[this.#number(faults.length)] ?? 'passes';
  }

  /** Creates the VM of a machine, or finds the existing VM. */
  async #obtain(member: Member): Promise<void> {
    const ended = await this.#stage.end(this.#stage.obtain(this.#process, member.machine));
    if (ended.ok) this.#record(member, ended.value);
  }

  #record(member: Member, { providerId }: Instance): void {
    const { name } = member.machine.metadata;
    expect(
      member.providerId === undefined || member.providerId === providerId,
      `machine ${name} had VM ${member.providerId}, but a later call returned VM ${providerId}; ${this.#actions()}`,
    );
    member.providerId = providerId;
    member.machine = { ...member.machine, spec: { ...member.machine.spec, providerID: providerId } };
  }

  async #delete(member: Member): Promise<void> {
    member.leaves = true;
    await this.#stage.end(this.#stage.delete(this.#process, member.machine));
  }

  /**
   * Ends the controller while a driver call is in progress. After a kill, the next process has only the objects of the
   * cluster.
   */
  async #kill(member: Member): Promise<void> {
    const died = this.#process;
    const call = member.leaves
      ? this.#stage.delete(died, member.machine)
      : this.#stage.obtain(died, member.machine).then(() => undefined);
    const ended = call.catch(() => undefined);
    await this.#stage.pass(this.#number(this.#stage.pace.lookMs));
    died.stop.abort(new Error('killed'));
    this.#process = this.#newProcess();
    if (this.#stage.world.runUntil === undefined) await ended;
  }

  #actions(): string {
    return `the history has these actions: ${this.#story.join(', ')}`;
  }

  async #act(): Promise<void> {
    const there = this.#members.filter(({ leaves }) => !leaves);
    const member = this.#members[this.#number(this.#members.length)];
    const choice = this.#number(10);
    if (member === undefined || choice < 4) {
      const made: Member = { machine: this.#stage.machine('random'), leaves: false };
      this.#members.push(made);
      this.#story.push(`create ${made.machine.metadata.name}`);
      return this.#obtain(made);
    }
    const { name } = member.machine.metadata;
    if (choice < 6) {
      this.#story.push(`kill the controller during a call for ${name}`);
      return this.#kill(member);
    }
    const doomed = there[this.#number(there.length)];
    if (choice < 8 && doomed) {
      this.#story.push(`delete ${doomed.machine.metadata.name}`);
      return this.#delete(doomed);
    }
    this.#story.push(`repeat the call for ${name}`);
    return member.leaves ? this.#delete(member) : this.#obtain(member);
  }

  async run(): Promise<void> {
    const stage = this.#stage;
    const before = new Set(await stage.inventory());
    for (let act = 0; act < ACTS; act++) {
      await this.#act();
      if (stage.world.runUntil) await stage.pass(this.#number(MAX_PAUSE_MS));
    }
    await stage.settle();
    this.#process = stage.process();
    for (const member of this.#members) {
      const { name } = member.machine.metadata;
      if (member.leaves)
        await stage.retry(`the deletion of ${name}`, () => stage.delete(this.#process, member.machine));
      else
        this.#record(
          member,
          await stage.retry(`the creation of ${name}`, () => stage.obtain(this.#process, member.machine)),
        );
    }
    await this.#verifyVms();
    for (const member of this.#members) {
      const { name } = member.machine.metadata;
      await stage.retry(`the deletion of ${name}`, () => stage.delete(this.#process, member.machine));
    }
    await stage.settle();
    const left = (await stage.inventory()).filter((each) => !before.has(each));
    expect(
      left.length === 0,
      `after the deletion of all machines, these resources remain: ${left.join(', ')}; ${this.#actions()}`,
    );
  }

  async #verifyVms(): Promise<void> {
    const names = new Set(this.#members.map(({ machine }) => machine.metadata.name));
    const wanted = this.#members
      .flatMap(({ leaves, providerId, machine }) => (leaves ? [] : [`${machine.metadata.name} ${providerId}`]))
      .toSorted();
    const textOf = (listed: readonly { readonly machineName: string; readonly providerId: string }[]) =>
      listed
        .filter(({ machineName }) => names.has(machineName))
        .map(({ machineName, providerId }) => `${machineName} ${providerId}`)
        .toSorted()
        .join(', ');
    const listed = textOf(await this.#stage.listedLate((all) => textOf(all) === wanted.join(', '), this.#process));
    expect(
      listed === wanted.join(', '),
      `the list must contain the VMs ${wanted.join(', ') || 'of no machine'}, but contains ${listed || 'no VM'}; ${this.#actions()}`,
    );
  }
}

/** Returns a scenario with random actions and faults. */
export const randomHistory = (seed: number): Scenario => ({
  name: `random history ${seed}`,
  impact: 'several faults together lead to a second VM, a lost VM, or a VM that mcm does not delete',
  run: async (stage) => new History(stage, seed).run(),
});
