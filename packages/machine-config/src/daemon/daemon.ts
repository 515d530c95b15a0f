import {
  backoffMs,
  type Clock,
  conformingClient,
  type EventRecorder,
  faultText,
  isHeld,
  isNotFound,
  type KubeClient,
  type Logger,
  type Node,
  nodes,
  type Random,
} from '@mcm/kube';
import { certificatesConfigOf } from '../certificates/bundle.ts';
import { isSettled } from '../conditions/predicates.ts';
import { diffConfigs } from '../config/diff.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import type { DaemonEvent } from '../constants/event-meanings.ts';
import { FORCE_FILE_PATH } from '../constants/names.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { machineConfigs } from '../kinds/resources.ts';
import { applyJournal, finishJournal, undoJournal } from './apply.ts';
import { bringCertificates } from './certificates.ts';
import { type DaemonStep, type DaemonView, decide, type Verdict } from './decide.ts';
import type { DaemonHost } from './disk/host.ts';
import { type Journal, readJournal, storeConfig, storedConfig, writeJournal } from './disk/journal.ts';
import { resolveWanted } from './disk/resolve.ts';
import { findDrift } from './drift.ts';
import { evaluateUpdate, missing } from './evaluate-update.ts';
import { bootConfig, firstBootJournal, forgetBootConfig } from './first-boot.ts';
import { lookUpFirstConfig } from './first-config.ts';
import { carriedOut, DEFAULT_POLICY, type DisruptionPolicy, postActions } from './policy/disruption.ts';

/** The dependencies of a {@link NodeDaemon}. */
export interface NodeDaemonOptions {
  readonly nodeName: string;
  readonly client: KubeClient;
  readonly configs?: KubeClient;
  readonly node: { get(): Node | undefined; wrote(node: Node): void };
  readonly host: DaemonHost;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly recorder?: EventRecorder<DaemonEvent>;
  readonly policy?: DisruptionPolicy;
  /**
   * Called at the start of the daemon and after each change of the stored config, with the config whose files the
   * daemon must watch.
   */
  readonly onStored?: (config: MachineConfig) => Promise<void> | void;
  /** Returns true after the machine or the process has ended. */
  readonly ended?: () => boolean;
}

/** The delays between retries, as in the daemon of the original. */
const RETRY = { baseMs: 1_000, maxMs: 60_000, jitter: 0.1 };

interface Failure {
  readonly target: string;
  readonly reason: string;
  readonly retryAt: number;
  readonly count: number;
}

type ReadConfig =
  | { readonly config: MachineConfig; readonly refusal?: undefined }
  | { readonly config?: undefined; readonly refusal: Exclude<Verdict, { kind: 'fits' }> };

/**
 * The machine-config-daemon of one node. The daemon applies the target to the disk and reports its progress. After a
 * crash at any point, the daemon can continue, because all necessary data is on the disk and in the Node.
 */
export class NodeDaemon {
  readonly #options: NodeDaemonOptions;
  #loaded = false;
  #stored: MachineConfig | undefined;
  #journal: Journal | undefined;
  #boot: string | undefined;
  #bootId = '';
  #checkDue = true;
  #drift: string | undefined;
  #verdict: (Verdict & { from: string; target: string; to?: MachineConfig | undefined }) | undefined;
  #failure: Failure | undefined;
  #first: string | null | undefined;
  #asked: { readonly value: string; readonly at: number } | undefined;

  constructor(options: NodeDaemonOptions) {
    this.#options = options;
  }

  diskChanged(): void {
    this.#checkDue = true;
  }

  get stored(): string | undefined {
    return this.#stored?.metadata.name;
  }

  /**
   * Executes all steps that are possible without waiting.
   * @returns milliseconds until the next check, or undefined to wait for the next change
   * @throws errors of the API
   * server.
   */
  async look(signal: AbortSignal): Promise<number | undefined> {
    for (;;) {
      signal.throwIfAborted();
      const node = this.#options.node.get();
      if (!node) return undefined;
      const step = decide(await this.#view(node));
      if (step.kind === 'idle') return undefined;
      if (step.kind === 'wait') {
        this.#first = undefined;
        return step.ms;
      }
      await this.#carryOut(node, step, signal);
    }
  }

  async #load(): Promise<void> {
    const { host } = this.#options;
    const { disk } = host;
    this.#bootId = await host.bootId();
    this.#stored = await storedConfig(disk);
    this.#journal = await readJournal(disk);
    this.#boot = await bootConfig(disk);
    this.#loaded = true;
  }

  async #view(node: Node): Promise<DaemonView> {
    const { host, clock, nodeName } = this.#options;
    if (!this.#loaded) await this.#load();
    const stored = this.#stored;
    if (this.#checkDue && stored && !this.#journal) await this.#check(stored);
    const { annotations = {} } = node.metadata;
    const target = annotations['machineconfiguration.openshift.io/desiredConfig'] ?? '';
    const verdict = this.#verdict;
    const fits = verdict?.from === (stored?.metadata.name ?? '') && verdict.target === target;
    const forced = (await host.disk.read(FORCE_FILE_PATH)) !== undefined;
    const asked = annotations['machineconfiguration.openshift.io/desiredDrain'] ?? '';
    const now = clock.monotonic();
    if (this.#asked?.value !== asked) this.#asked = { value: asked, at: now };
    return {
      nodeName,
      annotations,
      forced,
      now,
      askedAt: this.#asked.at,
      stored: stored?.metadata.name,
      settled: isSettled(node, clock.now().getTime()),
      first: this.#first,
      boot: this.#boot,
      journal: this.#journal ? this.#journalView(this.#journal) : undefined,
      drift: this.#drift,
      verdict: verdict && fits ? verdict : undefined,
      failure: this.#failure,
    };
  }

  #journalView({ phase, to, actions, bootId, first }: Journal): NonNullable<DaemonView['journal']> {
    const rebootDue = actions.some(({ type }) => type === 'Reboot') && bootId === this.#bootId;
    return { phase, to: to.metadata.name, rebootDue, first: first === true };
  }

  async #check(stored: MachineConfig): Promise<void> {
    const { host, node, recorder } = this.#options;
    this.#checkDue = false;
    const before = this.#drift;
    // The watch of the files starts before the check of the disk, so that the daemon misses no change.
    await this.#options.onStored?.(stored);
    this.#drift = await findDrift(host.disk, stored);
    const object = node.get();
    if (this.#drift === undefined || this.#drift === before || !object) return;
    recorder?.event(object, 'Warning', 'ConfigDriftDetected', this.#drift);
  }

  async #carryOut(node: Node, step: DaemonStep, signal: AbortSignal): Promise<void> {
    switch (step.kind) {
      case 'write':
        return this.#write(node, step.annotations, signal);
      case 'adopt':
        return this.#adopt(step.name, signal);
      case 'first':
        this.#first = (await this.#firstConfig(node, signal)) ?? null;
        return;
      case 'evaluate':
        return this.#evaluate(step.target, signal);
      case 'apply':
        return this.#tried(step.target, () => this.#apply(node, step.target));
      case 'certificates':
        return this.#certificates(node, step.version, signal);
      case 'force':
        return this.#tried(this.#stored?.metadata.name ?? '', () => this.#force());
      default:
        return this.#goOn(step.kind);
    }
  }

  async #goOn(kind: DaemonStep['kind']): Promise<void> {
    const journal = this.#journal;
    if (!journal) return;
    const target = journal.to.metadata.name;
    if (kind === 'resume') return this.#tried(target, () => this.#bring(journal));
    if (kind === 'undo') return this.#tried(target, () => this.#undo(journal), { keep: true });
    if (kind === 'finish') return this.#tried(target, () => this.#finish(journal));
    if (kind === 'reboot') return this.#tried(target, () => this.#reboot());
  }

  async #reboot(): Promise<void> {
    const { host } = this.#options;
    try {
      await host.reboot();
    } catch (error) {
      throw new Error(`cannot reboot the machine: ${error instanceof Error ? error.message.trim() : String(error)}`, {
        cause: error,
      });
    }
    // A reboot of a real machine ends the process, and a simulated machine continues with a new boot ID.
    this.#bootId = await host.bootId();
  }

  async #write(
    { metadata }: Node,
    annotations: Readonly<Record<string, string | null>>,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, node } = this.#options;
    const body = { metadata: { uid: metadata.uid, annotations } };
    node.wrote(await client.resource(nodes).patch(metadata.name, { type: 'merge', body }, { signal }));
  }

  async #tried(target: string, work: () => Promise<void>, { keep = false } = {}): Promise<void> {
    try {
      await work();
      if (!keep) this.#failure = undefined;
    } catch (error) {
      if (this.#options.ended?.()) throw error;
      this.#fail(target, error instanceof Error ? error.message : String(error));
    }
  }

  #fail(target: string, reason: string): void {
    const { clock, random, log } = this.#options;
    const count = (this.#failure?.target === target ? this.#failure.count : 0) + 1;
    if (this.#failure?.reason !== reason) log.warn('the update failed', { target, reason });
    this.#failure = { target, reason, count, retryAt: clock.monotonic() + backoffMs(RETRY, count, random) };
    this.#verdict = this.#verdict?.kind === 'refused' ? this.#verdict : undefined;
  }

  #firstConfig(node: Node, signal: AbortSignal): Promise<string | undefined> {
    const { client, configs = client, clock } = this.#options;
    return lookUpFirstConfig(configs, node, clock.now().getTime(), signal);
  }

  async #adopt(name: string, signal: AbortSignal): Promise<void> {
    const { config, refusal } = await this.#read(name, signal);
    if (!config) return this.#fail(name, refusal.reason);
    await this.#tried(name, () => this.#take(config));
  }

  /** Adopts the config of the first boot, whose files Ignition has written. */
  async #take(config: MachineConfig): Promise<void> {
    const { host } = this.#options;
    const journal =
      this.#boot === undefined ? undefined : firstBootJournal(config, await host.commandLine(), this.#bootId);
    if (journal) await writeJournal(host.disk, journal);
    else await storeConfig(host.disk, config);
    await forgetBootConfig(host.disk);
    this.#boot = undefined;
    this.#journal = journal;
    if (!journal) this.#stored = config;
    this.#checkDue = true;
  }

  /** The daemon refuses a field with a wrong type, because the meaning of the field is unknown. */
  async #read(name: string, signal: AbortSignal): Promise<ReadConfig> {
    const { client, configs = client } = this.#options;
    const conforming = conformingClient(configs, () => undefined);
    try {
      const config = await conforming.resource(machineConfigs).get(name, { signal });
      if (!isHeld(config)) return { config };
      return { refusal: { kind: 'refused', reason: faultText(config) ?? `MachineConfig ${name} is malformed` } };
    } catch (error) {
      if (isNotFound(error)) return { refusal: missing(name) };
      throw error;
    }
  }

  async #certificates(node: Node, version: string, signal: AbortSignal): Promise<void> {
    const { host, policy = DEFAULT_POLICY } = this.#options;
    const name = certificatesConfigOf(version);
    const { config, refusal = missing(name) } = await this.#read(name, signal);
    const stored = this.#stored;
    if (!config || !stored) return this.#fail(version, refusal.reason);
    let isThere = false;
    await this.#tried(version, async () => {
      await bringCertificates(host, { version, config, stored, policy });
      isThere = true;
    });
    this.#checkDue = true;
    if (isThere) await this.#write(node, { [NodeAnnotations.CurrentCertificates]: version }, signal);
  }

  async #evaluate(target: string, signal: AbortSignal): Promise<void> {
    const { config: to, refusal } = await this.#read(target, signal);
    const from = this.#stored?.metadata.name ?? '';
    const { host, policy } = this.#options;
    const verdict = to ? evaluateUpdate(this.#stored, to, { host, policy }) : refusal;
    this.#verdict = { ...verdict, from, target, to };
    if (verdict.kind !== 'fits') this.#fail(target, verdict.reason);
  }

  async #apply(node: Node, target: string): Promise<void> {
    const { host, policy = DEFAULT_POLICY, recorder } = this.#options;
    const from = this.#stored;
    const to = this.#verdict?.target === target ? this.#verdict.to : undefined;
    if (!to) return;
    const drift = from && (await findDrift(host.disk, from));
    if (drift !== undefined) {
      recorder?.event(node, 'Warning', 'PreflightConfigDriftCheckFailed', drift);
      this.#drift = drift;
      return;
    }
    await resolveWanted(host.disk, to);
    const actions = carriedOut(postActions(diffConfigs(from, to), policy));
    const commandLine = await host.commandLine();
    const journal: Journal = {
      phase: 'applying',
      to,
      actions,
      commandLine,
      bootId: this.#bootId,
      from,
    };
    await writeJournal(host.disk, journal);
    this.#journal = journal;
    await this.#bring(journal);
  }

  async #bring(journal: Journal): Promise<void> {
    const { host } = this.#options;
    await host.prepare?.(journal.to);
    await applyJournal(host, journal);
    this.#journal = { ...journal, phase: 'applied' };
    this.#stored = journal.to;
    this.#verdict = undefined;
    this.#checkDue = true;
  }

  async #undo(journal: Journal): Promise<void> {
    this.#journal = { ...journal, phase: 'undoing' };
    await undoJournal(this.#options.host, journal);
    this.#journal = undefined;
    this.#stored = journal.from;
    this.#checkDue = true;
  }

  async #finish(journal: Journal): Promise<void> {
    const { host } = this.#options;
    for (const action of journal.actions) {
      if (action.type !== 'None' && action.type !== 'Drain' && action.type !== 'Reboot') await host.act(action);
    }
    await finishJournal(host, journal);
    this.#journal = undefined;
  }

  async #force(): Promise<void> {
    const { host } = this.#options;
    const to = this.#stored;
    if (!to) return;
    const commandLine = await host.commandLine();
    const journal: Journal = {
      phase: 'applying',
      from: to,
      to,
      actions: [{ type: 'Reboot' }],
      commandLine,
      bootId: this.#bootId,
    };
    await writeJournal(host.disk, journal);
    await host.disk.remove(FORCE_FILE_PATH);
    this.#journal = journal;
    this.#drift = undefined;
    await this.#bring(journal);
  }
}
