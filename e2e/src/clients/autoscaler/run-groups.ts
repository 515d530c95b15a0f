import { setTimeout as sleep } from 'node:timers/promises';
import { Annotations, type MachineDeployment, machineDeployments } from '@mcm/api';
import { type ConfigMap, configMaps, isNotFound, realClock } from '@mcm/kube';
import { parse } from 'yaml';
import { NAMESPACE, type Stack } from '../../harness/stack.ts';
import { UPSTREAM } from './autoscalers.ts';
import { type AutoscalerRun, type Check, withAutoscaler } from './start-autoscaler.ts';

const GROUPS = Number(process.env.MCM_AUTOSCALER_GROUPS ?? 500);
const SCALE_UPS = 5;
const SCALE_UP_MS = 10_000;
const LIMIT_MS = 300_000;
const LOOK_EVERY_MS = 100;

const poolsOf = ({ client }: Stack) => client.resource<MachineDeployment>(machineDeployments, NAMESPACE);

async function makeGroups(stack: Stack): Promise<void> {
  const annotations = { [Annotations.AutoscalerMinSize]: '0', [Annotations.AutoscalerMaxSize]: '5' };
  for (let group = 0; group < GROUPS; group += 1) {
    const name = `group-${group}`;
    await stack.makeDeployment(name, 0, 'small');
    await poolsOf(stack).patch(name, { type: 'merge', body: { metadata: { annotations } } });
  }
}

/** Resolves with the number of node groups in the autoscaler's last status. */
async function knownGroups({ client }: Stack): Promise<number> {
  try {
    const found = await client.resource<ConfigMap>(configMaps, 'kube-system').get('cluster-autoscaler-status');
    const status: unknown = parse(found.data?.status ?? '');
    const groups = (status as { nodeGroups?: readonly unknown[] } | null)?.nodeGroups;
    return groups?.length ?? 0;
  } catch (error) {
    if (isNotFound(error)) return 0;
    throw error;
  }
}

function report(event: string, started: number): void {
  const seconds = ((realClock.monotonic() - started) / 1000).toFixed(1);
  process.stdout.write(`cluster-autoscaler-groups: ${event} after ${seconds} s\n`);
}

async function soon(done: () => Promise<boolean>, ended: () => boolean): Promise<boolean> {
  const started = realClock.monotonic();
  while (!(await done())) {
    if (realClock.monotonic() - started > LIMIT_MS || ended()) return false;
    await sleep(LOOK_EVERY_MS);
  }
  return true;
}

/** Watches the sum of the replicas of all node groups. */
class Replicas {
  readonly #counts = new Map<string, number>();
  readonly #stopped = new AbortController();

  get sum(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  async follow(stack: Stack): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        for await (const event of poolsOf(stack).watch({ signal })) {
          if (event.type !== 'BOOKMARK') this.#counts.set(event.object.metadata.name, event.object.spec.replicas ?? 0);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  stop(): void {
    this.#stopped.abort();
  }
}

async function measure({ stack, load, ended }: AutoscalerRun, replicas: Replicas): Promise<Check[]> {
  const begun = realClock.monotonic();
  const knowsAll = await soon(async () => (await knownGroups(stack)) === GROUPS, ended);
  report('the autoscaler knows all node groups', begun);
  const times: number[] = [];
  for (let pods = 1; pods <= SCALE_UPS && knowsAll && times.length === pods - 1; pods += 1) {
    const started = realClock.monotonic();
    await load.resize(pods);
    if (await soon(() => Promise.resolve(replicas.sum >= pods), ended)) times.push(realClock.monotonic() - started);
    report(`scale-up ${pods}`, started);
    await soon(() => load.isSettled(pods), ended);
  }
  const isFast = times.length === SCALE_UPS && times.every((time) => time < SCALE_UP_MS);
  return [
    { name: 'the autoscaler knows all node groups', passed: knowsAll },
    { name: 'each scale-up follows its pods within 10 s', passed: isFast },
  ];
}

/** Measures scale-ups in a cluster with many node groups. @param dir The folder that contains the programs. */
export const runGroups = (dir: string): Promise<Check[]> =>
  withAutoscaler(dir, UPSTREAM, {
    async prepare(stack) {
      const started = realClock.monotonic();
      await makeGroups(stack);
      await stack.startControllers();
      report(`${GROUPS} node groups created`, started);
    },
    async check(run) {
      const replicas = new Replicas();
      const [checks] = await Promise.all([
        measure(run, replicas).finally(() => replicas.stop()),
        replicas.follow(run.stack),
      ]);
      return checks;
    },
  });
