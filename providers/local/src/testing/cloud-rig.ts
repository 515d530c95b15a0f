import { createMemoryLogger, type MemoryLogger, seededRandom, VirtualClock } from '@mcm/kube';
import { type Cloud, type CloudOptions, createCloud } from '../cloud/create-cloud.ts';
import type { InstanceState } from '../machine/model.ts';

interface ReportedInstance {
  readonly id: string;
  readonly name: string;
  readonly state: InstanceState;
  readonly zone: string;
  readonly volumes: readonly string[];
  readonly tags: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

interface ReportedBody extends ReportedInstance {
  readonly items: readonly ReportedInstance[];
  readonly nextPageToken?: string;
  readonly output: string;
  readonly error: { readonly code: string; readonly message: string };
}

interface CallAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: ReportedBody;
}

/** A cloud with a virtual clock in the process of the test, and functions that call the API of the cloud. */
export interface CloudRig<C extends Pick<Cloud, 'fetch'> = Cloud> {
  readonly clock: VirtualClock;
  readonly cloud: C;
  readonly log: MemoryLogger;
  call(
    method: string,
    path: string,
    body?: object,
    init?: { token?: string; signal?: AbortSignal },
  ): Promise<CallAnswer>;
  /** Like `call`, but advances the clock until the response arrives. */
  callAndWait(method: string, path: string, body?: object): Promise<CallAnswer>;
  launch(overrides?: object): Promise<ReportedInstance>;
}

type RigOptions = Partial<CloudOptions> & { clock?: VirtualClock };

export const cloudRig = (options: RigOptions = {}): CloudRig => cloudRigAround(createCloud, options);

export function cloudRigAround<C extends Pick<Cloud, 'fetch'>>(
  make: (options: CloudOptions) => C,
  options: RigOptions,
): CloudRig<C> {
  const clock = options.clock ?? new VirtualClock();
  const log = createMemoryLogger();
  const cloud = make({ random: seededRandom(7), log, ...options, clock });
  const call: CloudRig['call'] = async (method, path, body, { token = options.token, signal } = {}) => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const init: RequestInit = { method, headers };
    if (body !== undefined) init.body = JSON.stringify(body);
    if (signal !== undefined) init.signal = signal;
    const response = await cloud.fetch(new Request(`http://cloud${path}`, init));
    const text = await response.text();
    const json = response.headers.get('content-type')?.includes('json');
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
  };
  const callAndWait: CloudRig['callAndWait'] = async (method, path, body) => {
    const answer = call(method, path, body);
    let done = false;
    answer.then(
      () => {
        done = true;
      },
      () => {
        done = true;
      },
    );
    await clock.runUntil(() => done, { maxMs: 3_600_000 });
    return answer;
  };
  const launch: CloudRig['launch'] = async (overrides = {}) => {
    const { body, status } = await call('POST', '/v1/instances', { name: 'vm', image: 'linux', ...overrides });
    if (status >= 400) throw new Error(`launch: ${status} ${JSON.stringify(body)}`);
    await clock.settle();
    return body;
  };
  return { clock, cloud, log, call, callAndWait, launch };
}
