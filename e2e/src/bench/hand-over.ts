import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { leases, realClock, sleep } from '@mcm/kube';
import { makeLocalClass } from '../hand-over/local-class.ts';
import { type Binary, startBinary } from '../harness/binary.ts';
import { NAMESPACE, type Stack, startStack, until } from '../harness/stack.ts';
import { atMost, type Figure } from './machines/figure.ts';

const sourceOf = (module: string): string => fileURLToPath(import.meta.resolve(module));
const MANAGER = sourceOf('@mcm/machine-controller-manager/main');
const LEASE = 'machine-controller-manager';
const FLEET = 100;
const PATIENCE_MS = 60_000;
const HAND_OVERS = 5;
const KILLS = 3;

const seconds = (since: number): number => (performance.now() - since) / 1000;

/** Several replicas of one program. */
class Relay {
  readonly #stack: Stack;
  #replicas = FLEET;
  #leader: Binary | undefined;
  #next: Binary | undefined;

  constructor(stack: Stack) {
    this.#stack = stack;
  }

  async #start(): Promise<Binary> {
    const { kubeconfig } = this.#stack;
    const binary = startBinary(MANAGER, [`--target-kubeconfig=${kubeconfig}`, `--namespace=${NAMESPACE}`, '--port=0']);
    await binary.ready;
    return binary;
  }

  /** Creates machines without VMs, and starts a leader and a standby. */
  async begin(): Promise<void> {
    await this.#stack.makeClass('local');
    this.#leader = await this.#start();
    await this.#stack.makeDeployment('relay', this.#replicas, 'local');
    await this.#made();
    this.#next = await this.#start();
  }

  /** Ends the leader with a signal. */
  async pass(signal: 'SIGTERM' | 'SIGKILL'): Promise<{ readonly held: number; readonly worked: number }> {
    const { client } = this.#stack;
    const [leader, next] = [this.#leader, this.#next];
    if (leader === undefined || next === undefined) throw new Error('no replica has become the leader yet');
    const { spec } = await client.resource(leases, NAMESPACE).get(LEASE);
    // A random delay varies the time between the last renewal of the Lease and the signal.
    await sleep(realClock, Math.random() * 2_000);
    const since = performance.now();
    leader.kill(signal);
    this.#replicas += 1;
    const asked = client
      .resource<MachineDeployment>(machineDeployments, NAMESPACE)
      .patch('relay', { type: 'merge', body: { spec: { replicas: this.#replicas } } });
    const other = (holder: string | undefined): boolean => holder !== '' && holder !== spec?.holderIdentity;
    await until(client, leases, LEASE, (lease) => other(lease.spec?.holderIdentity ?? ''), PATIENCE_MS);
    const held = seconds(since);
    await asked;
    await this.#made();
    const worked = seconds(since);
    await leader.ended;
    this.#leader = next;
    this.#next = await this.#start();
    return { held, worked };
  }

  async #made(): Promise<void> {
    const done = ({ status }: MachineDeployment): boolean => status?.replicas === this.#replicas;
    await until<MachineDeployment>(this.#stack.client, machineDeployments, 'relay', done, PATIENCE_MS);
  }

  async end(): Promise<void> {
    for (const each of [this.#leader, this.#next]) {
      each?.kill('SIGTERM');
      await each?.ended;
    }
  }
}

/** Stops a machine controller with SIGTERM while its cloud does not respond. */
async function stopDuringCall(stack: Stack): Promise<number> {
  const asked = Promise.withResolvers<void>();
  const cloud = createServer(() => asked.resolve());
  await new Promise<void>((resolve) => cloud.listen(0, '127.0.0.1', resolve));
  try {
    const endpoint = `http://127.0.0.1:${(cloud.address() as AddressInfo).port}`;
    await makeLocalClass(stack.client, { endpoint, token: 'none' }, 'mute');
    const flags = [`--target-kubeconfig=${stack.kubeconfig}`, `--namespace=${NAMESPACE}`, '--port=0'];
    const controller = startBinary(sourceOf('@mcm/provider-local/main'), flags);
    await controller.ready;
    await stack.client.resource<Machine>(machines, NAMESPACE).create({
      metadata: { name: 'waits', namespace: NAMESPACE },
      spec: { class: { kind: 'MachineClass', name: 'mute' } },
    });
    await asked.promise;
    const since = performance.now();
    controller.kill('SIGTERM');
    const { code } = await controller.ended;
    if (code !== 0) throw new Error(`the machine controller ended with ${code}`);
    return seconds(since);
  } finally {
    cloud.closeAllConnections();
    cloud.close();
  }
}

const spread = (times: readonly number[]): string => `of ${times.map((time) => time.toFixed(2)).join(', ')}`;

/** Measures the time without a leader. */
export async function* handOverFigures(): AsyncGenerator<Figure> {
  const stack = await startStack({ planeFlags: ['--no-controllers'] });
  const relay = new Relay(stack);
  try {
    await relay.begin();
    for (const [signal, times, goal] of [
      ['SIGTERM', HAND_OVERS, 3],
      ['SIGKILL', KILLS, 15],
    ] as const) {
      const passed: { held: number; worked: number }[] = [];
      for (let time = 0; time < times; time += 1) passed.push(await relay.pass(signal));
      const [held, worked] = [passed.map((each) => each.held), passed.map((each) => each.worked)];
      yield atMost(
        `time from ${signal} until another replica is the leader`,
        Math.max(...held),
        goal,
        's',
        spread(held),
      );
      yield atMost(
        `time from ${signal} until the new leader creates the first of ${FLEET} machines`,
        Math.max(...worked),
        signal === 'SIGTERM' ? goal : goal + 3,
        's',
        spread(worked),
      );
    }
    yield atMost(
      'time from SIGTERM to the end of the process during a call to the cloud',
      await stopDuringCall(stack),
      10,
      's',
      '',
    );
  } finally {
    await relay.end();
    await stack.stop();
  }
}
