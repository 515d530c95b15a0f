import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import {
  createClient,
  createInformer,
  createLogger,
  type Informer,
  type KubeClient,
  type KubeObject,
  loadKubeconfig,
  type Pod,
  pods,
  realClock,
  seededRandom,
  type Transport,
  undiciTransport,
} from '@mcm/kube';
import { type McmRun, mcm } from '../../harness/mcm.ts';
import { NAMESPACE } from '../../harness/stack.ts';
import { createApp } from '../../simulation/machines/apps.ts';
import { type CloudInstance, FleetRecord, type KnownMachine } from './record.ts';

export const CLASSES = ['local-small', 'local-other'] as const;
const PODS_A_MACHINE = 2;
const PODS_AWAY = 10;

const known = ({ metadata }: Machine): KnownMachine => ({
  uid: metadata.uid,
  name: metadata.name,
  isGoing: metadata.deletionTimestamp !== undefined,
});

/** `mcm up` with its five programs, and the record of its fleet. */
export class KilledStack {
  readonly run: McmRun;
  readonly client: KubeClient;
  readonly record = new FleetRecord();
  readonly #dir: string;
  readonly #cloud: Transport;
  readonly #stop = new AbortController();
  readonly #informers: readonly Informer<KubeObject>[];

  private constructor(run: McmRun, dir: string, client: KubeClient, cloud: Transport) {
    this.run = run;
    this.client = client;
    this.#dir = dir;
    this.#cloud = cloud;
    const options = { clock: realClock, random: seededRandom(0), log: createLogger({ level: 'silent' }) };
    const machineInformer = createInformer<Machine>(client, machines, options);
    machineInformer.onChange(({ type, object }) => {
      if (type === 'deleted') this.record.machineGone(object.metadata.uid);
      else this.record.machine(known(object));
    });
    const podInformer = createInformer<Pod>(client, pods, options);
    podInformer.onChange(({ type, object }) => {
      if (type === 'deleted') this.record.podGone(object, Date.now());
      else this.record.pod(object, Date.now());
    });
    this.#informers = [machineInformer, podInformer] as readonly Informer<KubeObject>[];
    for (const informer of this.#informers) void informer.run(this.#stop.signal);
  }

  static async start(count: number): Promise<KilledStack> {
    const dir = mkdtempSync(join(tmpdir(), 'mcm kills '));
    const data = join(dir, 'data');
    const run = mcm(['up', '--no-tty', '--machine-config', `--machines=${count}`, `--data-dir=${data}`], { cwd: dir });
    await run.line(/^ready: /);
    const state: { readonly cloudAddress: string } = JSON.parse(readFileSync(join(data, 'mcm.json'), 'utf8'));
    const token = readFileSync(join(data, 'cloud-token'), 'utf8');
    const transport = undiciTransport(await loadKubeconfig(join(data, 'kubeconfig')));
    const client = createClient({ transport, userAgent: 'mcm-kills', clock: realClock });
    const stack = new KilledStack(run, dir, client, undiciTransport({ server: state.cloudAddress, token }));
    await Promise.all(stack.#informers.map((informer) => informer.whenSynced()));
    await stack.#makeClass();
    const replicas = count * PODS_A_MACHINE;
    await createApp(client, { name: 'web', replicas, volumes: false, minAvailable: replicas - PODS_AWAY });
    return stack;
  }

  async #makeClass(): Promise<void> {
    const resource = this.client.resource<MachineClass>(machineClasses, NAMESPACE);
    const { metadata: _, ...own } = await resource.get(CLASSES[0]);
    await resource.create({ ...own, metadata: { name: CLASSES[1], namespace: NAMESPACE } });
  }

  async machines(): Promise<readonly Machine[]> {
    return (await this.client.resource<Machine>(machines, NAMESPACE).list()).items;
  }

  async #instances(): Promise<readonly CloudInstance[]> {
    const all: CloudInstance[] = [];
    for (const query of ['', '?state=terminated']) {
      const answer = await this.#cloud({ method: 'GET', path: `/v1/instances${query}`, headers: {} });
      if (answer.status !== 200) throw new Error(`the cloud answered ${answer.status}`);
      const { items }: { readonly items: readonly CloudInstance[] } = JSON.parse(await answer.text());
      all.push(...items);
    }
    return all;
  }

  /**
   * Verifies the VMs in the cloud with the record.
   * @throws Error if the cloud does not respond.
   */
  async verify(knownUntil: number): Promise<void> {
    this.record.verify(await this.#instances(), knownUntil);
  }

  async verifyRest(): Promise<void> {
    this.record.verifyRest(await this.#instances(), (await this.machines()).map(known));
  }

  get isProven(): boolean {
    return this.#informers.every(({ proven }) => proven);
  }

  async stop(): Promise<number | string> {
    this.#stop.abort(new Error('stopped'));
    this.run.child.kill('SIGTERM');
    const { code } = await this.run.ended;
    rmSync(this.#dir, { recursive: true, force: true });
    return code;
  }
}
