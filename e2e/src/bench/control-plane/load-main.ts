import { setTimeout as sleep } from 'node:timers/promises';
import { NODES, node, PODS, pendingPod, pod } from './bench-objects.ts';
import type { LoadOrder, LoadPlan, LoadReport } from './load.ts';
import { drive, LoadConnection, type LoadRequest } from './load-connection.ts';
import { latenciesOf, OpenLoop } from './open-loop.ts';

/** This process generates the load of the benchmark `control-plane-large`. */

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const FILLERS = 64;
const CONNECTIONS = 256;
const TICK_MS = 5;

const tell = (report: LoadReport): void => void process.send?.(report);

const lease = (index: number, resourceVersion?: string): string =>
  JSON.stringify({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: `node-${index}`, namespace: 'kube-node-lease', resourceVersion },
    spec: {
      holderIdentity: `node-${index}`,
      leaseDurationSeconds: 40,
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    },
  });

const versionIn = (text: string): string => /"resourceVersion":"(\d+)"/.exec(text)?.[1] ?? '';

async function atRate(perSecond: number, signal: AbortSignal, call: (dueAt: number) => void): Promise<void> {
  const start = performance.now();
  for (let sent = 0; !signal.aborted; ) {
    const now = performance.now();
    for (let dueAt = start + (sent * 1000) / perSecond; dueAt <= now; dueAt = start + (sent * 1000) / perSecond) {
      call(dueAt);
      sent++;
    }
    await sleep(TICK_MS);
  }
}

function* posts(times: number, path: string, body: (index: number) => string): Generator<LoadRequest> {
  for (let index = 0; index < times; index++) yield { method: 'POST', path, body: body(index) };
}

class Load {
  readonly #plan: LoadPlan;
  readonly #loop: OpenLoop;
  /** The resource versions of the Leases. */
  readonly #leases: (string | undefined)[] = [];
  #lease = 0;
  #oldest = 0;
  #pod: number;

  constructor(plan: LoadPlan, loop: OpenLoop) {
    this.#plan = plan;
    this.#loop = loop;
    this.#pod = plan.pods;
  }

  /** Creates the Leases of the nodes, and then the pods. */
  async fill(connections: readonly LoadConnection[]): Promise<void> {
    const { nodes, pods } = this.#plan;
    await Promise.all(
      Array.from({ length: nodes }, (_, index) => index).map(
        (index) =>
          new Promise<void>((resolve) => {
            const request = { method: 'POST', path: LEASES, body: lease(index) };
            this.#loop.submit('fill', request, 201, performance.now(), (text) => {
              this.#leases[index] = versionIn(text);
              resolve();
            });
          }),
      ),
    );
    // While the pods are created, the Leases of the nodes are renewed, so the nodes stay ready.
    const filled = new AbortController();
    const renewed = this.renew(filled.signal);
    await drive(
      connections,
      posts(pods, PODS, (index) => pod(index, nodes)),
      201,
    );
    filled.abort();
    await renewed;
    await this.#loop.drained();
  }

  renew(signal: AbortSignal): Promise<void> {
    return atRate(this.#plan.leasesPerSecond, signal, (dueAt) => {
      const index = this.#lease;
      this.#lease = (index + 1) % this.#plan.nodes;
      const version = this.#leases[index];
      if (version === undefined) return;
      this.#leases[index] = undefined;
      const request = { method: 'PUT', path: `${LEASES}/node-${index}`, body: lease(index, version) };
      this.#loop.submit('lease renewals', request, 200, dueAt, (text) => {
        this.#leases[index] = versionIn(text);
      });
    });
  }

  replacePods(signal: AbortSignal): Promise<void> {
    return atRate(this.#plan.podsPerSecond, signal, (dueAt) => {
      const index = this.#pod++;
      const request = { method: 'POST', path: PODS, body: pendingPod(index) };
      this.#loop.submit('pod creations', request, 201, dueAt, () => this.#bind(index));
    });
  }

  #bind(index: number): void {
    const target = { apiVersion: 'v1', kind: 'Node', name: `node-${index % this.#plan.nodes}` };
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: `pod-${index}` }, target };
    const request = { method: 'POST', path: `${PODS}/pod-${index}/binding`, body: JSON.stringify(body) };
    this.#loop.submit('pod bindings', request, 201, performance.now(), () => this.#deleteOldest());
  }

  /** Deletes a pod immediately, as a kubelet does after it has stopped the containers. */
  #deleteOldest(): void {
    const path = `${PODS}/pod-${this.#oldest++}`;
    const request = { method: 'DELETE', path, body: '{"gracePeriodSeconds":0}' };
    this.#loop.submit('pod deletions', request, 200, performance.now(), () => undefined);
  }
}

async function run({ target, plan }: LoadOrder): Promise<void> {
  const open = (count: number) => Promise.all(Array.from({ length: count }, () => LoadConnection.open(target)));
  const fillers = await open(FILLERS);
  const fillStart = performance.now();
  await drive(fillers, posts(plan.nodes, NODES, node), 201);
  // The server closes a connection after ten seconds without a request. Creating the nodes can take longer, so the
  // connections open later.
  const connections = await open(CONNECTIONS);
  const loop = new OpenLoop(connections);
  const load = new Load(plan, loop);
  await load.fill(fillers);
  for (const connection of fillers) connection.close();
  tell({ filled: true, seconds: (performance.now() - fillStart) / 1000 });
  loop.forget();
  const start = performance.now();
  const signal = AbortSignal.timeout(plan.seconds * 1000);
  await Promise.all([load.renew(signal), load.replacePods(signal)]);
  await loop.drained();
  const seconds = (performance.now() - start) / 1000;
  const all = latenciesOf([...loop.times.values()].flat());
  const byKind = Object.fromEntries([...loop.times].map(([kind, times]) => [kind, latenciesOf(times)]));
  tell({ filled: false, seconds, all, byKind });
  for (const connection of connections) connection.close();
}

process.once('message', (order: LoadOrder) => {
  run(order).then(
    () => process.disconnect(),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    },
  );
});
