import {
  type DriverContext,
  type DriverRequest,
  defineDriver,
  type MachineCode,
  MachineError,
  type MachineRequest,
} from '@mcm/core';
import { sleep } from '@mcm/kube';
import { z } from 'zod';
import { openSlowCloud } from './slow-cloud.ts';

const Spec = z.strictObject({ cluster: z.string().min(1), size: z.enum(['small', 'large']) });
type Spec = z.infer<typeof Spec>;
const Credentials = z.looseObject({ token: z.string().min(1), userData: z.string() });
type Credentials = z.infer<typeof Credentials>;
type Request = DriverRequest<Spec, Credentials>;
type OnMachine = MachineRequest<Spec, Credentials> & { readonly waitsFor?: (what: string) => void };

const ENDPOINT = 'https://api.slow.example';
const PREFIX = 'slow:///';
const LOOK_MS = 2_000;

const CODES: Readonly<Record<string, MachineCode>> = {
  BadToken: 'Unauthenticated',
  Busy: 'Aborted',
  Exists: 'AlreadyExists',
  NotThere: 'NotFound',
  NoCapacity: 'ResourceExhausted',
  NoQuota: 'ResourceExhausted',
  TooManyRequests: 'Unavailable',
};

const Refusal = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
const Resource = z.object({ name: z.string(), state: z.string() });
const Page = z.object({ items: z.array(Resource), next: z.number().optional() });

/**
 * Creates the functions for servers and disks. Each function waits until the cloud has completed the creation or
 * deletion.
 */
function createResources({ clock, connect }: DriverContext) {
  const cloud = connect(ENDPOINT);

  async function call<T>(request: Request, schema: z.ZodType<T>, method: string, path: string, body?: object) {
    const { credentials, signal } = request;
    const headers = { authorization: `Bearer ${credentials.token}`, 'content-type': 'application/json' };
    const sent = { method, path, headers, signal, body: body ? JSON.stringify(body) : undefined };
    const response = await cloud(sent).catch((cause: unknown) => {
      throw new MachineError('Unavailable', 'the cloud cannot be reached', { cause });
    });
    const answer = parseJson(await response.text());
    const parsed = schema.safeParse(answer);
    if (response.status < 300 && parsed.success) return parsed.data;
    const refused = Refusal.safeParse(answer).data?.error;
    const seconds = Number(response.headers.get('retry-after') ?? 0);
    throw new MachineError(CODES[refused?.code ?? ''] ?? 'Unavailable', refused?.message ?? `HTTP ${response.status}`, {
      retryAfterMs: seconds > 0 ? seconds * 1_000 : undefined,
    });
  }

  const pathOf = (kind: string, { spec, machine }: OnMachine): string =>
    `/${kind}/${encodeURIComponent(spec.cluster)}/${encodeURIComponent(machine.metadata.name)}`;

  const state = (request: OnMachine, kind: string): Promise<string | undefined> =>
    call(request, Resource, 'GET', pathOf(kind, request)).then((found) => found.state, except('NotFound', undefined));

  /** Waits until a server or disk has the wanted state. The function reports the reason of a long wait. */
  async function until(request: OnMachine, kind: string, wanted: string | undefined): Promise<void> {
    for (;;) {
      const found = await state(request, kind);
      if (found === wanted) return;
      request.waitsFor?.(`${kind.slice(0, -1)} ${request.machine.metadata.name} is ${found ?? 'gone'}`);
      await sleep(clock, LOOK_MS, request.signal);
    }
  }

  async function make(request: OnMachine, kind: string, more: object = {}): Promise<void> {
    const body = { name: request.machine.metadata.name, cluster: request.spec.cluster, ...more };
    if ((await state(request, kind)) === undefined)
      await call(request, Resource, 'POST', `/${kind}`, body).catch(except('AlreadyExists', undefined));
    await until(request, kind, 'ready');
  }

  async function remove(request: OnMachine, kind: string): Promise<void> {
    const found = await state(request, kind);
    if (found === undefined) return;
    if (found === 'creating') await until(request, kind, 'ready');
    if (found !== 'deleting')
      await call(request, z.unknown(), 'DELETE', pathOf(kind, request)).catch(except('NotFound', undefined));
    await until(request, kind, undefined);
  }

  async function names(request: Request, kind: string): Promise<string[]> {
    const found: string[] = [];
    for (let from: number | undefined = 0; from !== undefined; ) {
      const path = `/${kind}?cluster=${encodeURIComponent(request.spec.cluster)}&from=${from}`;
      const page: z.infer<typeof Page> = await call(request, Page, 'GET', path);
      found.push(...page.items.map(({ name }) => name));
      from = page.next;
    }
    return found;
  }

  return { state, make, remove, names };
}

const instanceIds = ({ metadata: { name } }: OnMachine['machine']) => ({ providerId: PREFIX + name, nodeName: name });

/**
 * A driver for a cloud whose creations and deletions take up to a minute. The driver waits with the clock of its
 * context.
 */
export function createDriver(context: DriverContext) {
  const { state, make, remove, names } = createResources(context);
  return defineDriver({
    name: 'slow',
    providerSpec: Spec,
    credentialsSchema: Credentials,

    create: async (request) => {
      await make(request, 'disks');
      const { spec, userData } = request;
      await make(request, 'servers', { size: spec.size, userData: Buffer.from(userData).toString('base64') });
      return instanceIds(request.machine);
    },

    status: async (request) => {
      const found = await state(request, 'servers');
      if (found === undefined) throw new MachineError('NotFound', `no server ${request.machine.metadata.name}`);
      return { ...instanceIds(request.machine), ending: found === 'deleting' ? 'being deleted' : undefined };
    },

    delete: async (request) => {
      await remove(request, 'servers');
      await remove(request, 'disks');
      return undefined;
    },

    /** The list includes disks without a server, so that the controller deletes them. */
    list: async (request) => {
      const all = new Set([...(await names(request, 'servers')), ...(await names(request, 'disks'))]);
      return [...all].map((name) => ({ providerId: PREFIX + name, machineName: name }));
    },

    volumeIds: (sources) => sources.map(() => undefined),
  });
}

/** Returns a value if the cloud responds with the given error code. All other errors are thrown again. */
const except =
  <T>(code: MachineCode, instead: T) =>
  (error: unknown): T => {
    if (error instanceof MachineError && error.code === code) return instead;
    throw error;
  };

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The kit uses this export to open a cloud in its own process. Without `openCloud`, the driver sends its requests over
 * the network.
 */
export const openCloud = () => openSlowCloud();
