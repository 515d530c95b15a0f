import {
  type AlternativeRules,
  type DriverContext,
  type DriverRequest,
  defineDriver,
  type InterruptionRequest,
  listedTags,
  type MachineCode,
  MachineError,
  type MachineRequest,
  type TagRequest,
} from '@mcm/core';
import { sleep } from '@mcm/kube';
import { z } from 'zod';
import { openToyCloud } from './toy-cloud.ts';

const Spec = z.strictObject({
  /** The tag of each server with the name of its cluster. With the tag, `list` returns no servers of other clusters. */
  cluster: z.string().min(1),
  size: z.enum(['small', 'large']),
});
type Spec = z.infer<typeof Spec>;

const Credentials = z.looseObject({ token: z.string().min(1), userData: z.string() });
type Credentials = z.infer<typeof Credentials>;

const sizeOf = (text: string | undefined) => Spec.shape.size.safeParse(text).data;

/** If the cloud has no capacity for the first size, the controller tries the other sizes of the class. */
const alternatives: AlternativeRules<Spec> = {
  fields: ['machineType'],
  apply: (spec, { machineType }) => ({ ...spec, size: sizeOf(machineType) ?? spec.size }),
  problem: (_, { machineType }) =>
    sizeOf(machineType) ? undefined : `machineType: ${machineType} is not a machine type; write small or large`,
  offering: ({ size }) => ({ region: '', zone: '', subnet: '', machineType: size, market: '' }),
};

const ENDPOINT = 'https://api.toy.example';
const PREFIX = 'toy:///';
/**
 * The interval at which the driver polls for notices. The toy cloud cannot delay a response until there is a notice.
 */
const NOTICES_EVERY_MS = 5_000;

/** The machine code for each error code of the cloud. The machine code determines the delay before a retry. */
const CODES: Readonly<Record<string, MachineCode>> = {
  BadToken: 'Unauthenticated',
  NoSuchServer: 'NotFound',
  NoCapacity: 'ResourceExhausted',
  NoQuota: 'ResourceExhausted',
  TooManyRequests: 'Unavailable',
};

const Refusal = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
const Server = z.object({
  id: z.string(),
  name: z.string(),
  stopped: z.boolean().optional(),
  tags: z.record(z.string(), z.string()).optional(),
});
const Notices = z.object({
  notices: z.array(z.object({ id: z.string(), server: z.string(), at: z.string(), endsAt: z.string() })),
});
const Page = z.object({ servers: z.array(Server), next: z.number().optional() });

/** Sends a request to the cloud. An error of the cloud becomes a MachineError. */
async function send<T>(
  cloud: ReturnType<DriverContext['connect']>,
  { credentials, signal }: DriverRequest<Spec, Credentials>,
  schema: z.ZodType<T>,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const headers = { authorization: `Bearer ${credentials.token}`, 'content-type': 'application/json' };
  const request = { method, path, headers, signal, body: body ? JSON.stringify(body) : undefined };
  const response = await cloud(request).catch((cause: unknown) => {
    throw new MachineError('Unavailable', 'the cloud cannot be reached', { cause });
  });
  const answer = parseJson(await response.text());
  const parsed = schema.safeParse(answer);
  if (response.status < 300 && parsed.success) return parsed.data;
  // A 404 without the error format of the cloud comes from a proxy, so the server may still exist.
  const refused = Refusal.safeParse(answer).data?.error;
  const code = CODES[refused?.code ?? ''] ?? 'Unavailable';
  const seconds = Number(response.headers.get('retry-after') ?? 0);
  throw new MachineError(
    code,
    refused?.message ?? `the cloud returned an invalid response with status ${response.status}`,
    {
      retryAfterMs: seconds > 0 ? seconds * 1_000 : undefined,
    },
  );
}

async function setPower(
  cloud: ReturnType<DriverContext['connect']>,
  request: MachineRequest<Spec, Credentials>,
  stopped: boolean,
): Promise<void> {
  const id = (request.machine.spec.providerID ?? '').replace(PREFIX, '');
  await send(cloud, request, Server, 'PUT', `/servers/${id}`, { stopped });
}

/** Changes tags of a server. The cloud keeps all other tags. If the server no longer exists, there is nothing to change. */
async function setTags(
  cloud: ReturnType<DriverContext['connect']>,
  request: TagRequest<Spec, Credentials>,
): Promise<void> {
  const id = (request.machine.spec.providerID ?? '').replace(PREFIX, '');
  await send(cloud, request, Server, 'PUT', `/servers/${id}`, { tags: request.tags }).catch((error: unknown) => {
    if (!(error instanceof MachineError && error.code === 'NotFound')) throw error;
  });
}

/** Reports notices to mcm. A notice is removed from the cloud after mcm has recorded it. */
async function reportNotices(
  cloud: ReturnType<DriverContext['connect']>,
  clock: DriverContext['clock'],
  request: InterruptionRequest<Spec, Credentials>,
): Promise<void> {
  const path = `/notices?cluster=${encodeURIComponent(request.spec.cluster)}`;
  const { notices } = await send(cloud, request, Notices, 'GET', path);
  for (const { id, server, at, endsAt } of notices) {
    const notice = {
      id,
      providerId: `${PREFIX}${server}`,
      kind: 'Terminate',
      detail: 'the cloud ends the VM',
    } as const;
    const answer = await request.notify({ ...notice, noticedAt: at, deadline: endsAt });
    if (answer === 'done') await send(cloud, request, z.object({}), 'DELETE', `/notices/${id}`);
  }
  if (notices.length === 0) await sleep(clock, NOTICES_EVERY_MS, request.signal);
}

const instanceIds = ({ id, name }: z.infer<typeof Server>) => ({ providerId: `${PREFIX}${id}`, nodeName: name });

/** Returns an entry of the list, with the tags that the controller needs. */
const entryOf = ({ id, name, tags }: z.infer<typeof Server>, tagKeys: readonly string[] | undefined) => ({
  providerId: `${PREFIX}${id}`,
  machineName: name,
  ...listedTags(tags, tagKeys),
});

/**
 * Creates the driver. A process calls this function once. The context contains the clock, the random source and the
 * connection to the cloud, so that tests can replace them.
 */
export function createDriver({ clock, connect }: DriverContext) {
  const cloud = connect(ENDPOINT);

  const call = <T>(
    request: DriverRequest<Spec, Credentials>,
    schema: z.ZodType<T>,
    method: string,
    path: string,
    body?: object,
  ): Promise<T> => send(cloud, request, schema, method, path, body);

  async function listAll(request: DriverRequest<Spec, Credentials>, filter = ''): Promise<z.infer<typeof Server>[]> {
    const found = [];
    for (let from: number | undefined = 0; from !== undefined; ) {
      const path = `/servers?cluster=${encodeURIComponent(request.spec.cluster)}${filter}&from=${from}`;
      const page: z.infer<typeof Page> = await call(request, Page, 'GET', path);
      found.push(...page.servers);
      from = page.next;
    }
    return found;
  }

  /**
   * Finds the server with the UID of the Machine, so that a repeated `create` finds the first server. Without such a
   * server, the driver searches by name, because another controller may have created the server.
   */
  const find = async (request: MachineRequest<Spec, Credentials>) => {
    const { name, uid } = request.machine.metadata;
    const [own] = await listAll(request, `&token=${uid}`);
    return own ?? (await listAll(request)).find((server) => server.name === name);
  };

  const power = (request: MachineRequest<Spec, Credentials>, stopped: boolean) => setPower(cloud, request, stopped);

  return defineDriver({
    name: 'toy',
    providerSpec: Spec,
    credentialsSchema: Credentials,
    alternatives,

    create: async (request) => {
      const { name, uid } = request.machine.metadata;
      const { cluster, size } = request.spec;
      const body = { name, cluster, size, token: uid, userData: Buffer.from(request.userData).toString('base64') };
      return instanceIds(await call(request, Server, 'POST', '/servers', body));
    },

    status: async (request) => {
      const server = await find(request);
      if (!server)
        throw new MachineError('NotFound', `the cloud has no server for machine ${request.machine.metadata.name}`);
      return server.stopped ? { ...instanceIds(server), ending: 'stopped' } : instanceIds(server);
    },

    // The method `stop` is optional. mcm calls `stop` for warm machines, because a stopped server costs less.
    stop: (request) => power(request, true),
    start: (request) => power(request, false),

    // The method `tag` is optional. With tags, the console of the cloud shows orphaned servers.
    tag: (request) => setTags(cloud, request),

    delete: async (request) => {
      // For an orphaned server, the request contains only the provider ID. The UID of the Machine is unknown, because
      // the Machine is deleted.
      const { providerID } = request.machine.spec;
      const id = providerID ? providerID.replace(PREFIX, '') : (await find(request))?.id;
      if (id === undefined) return undefined;
      await call(request, Server, 'DELETE', `/servers/${id}`).catch((error: unknown) => {
        if (!(error instanceof MachineError && error.code === 'NotFound')) throw error;
      });
      return undefined;
    },

    // The method `watchInterruptions` is optional. The method reports that the cloud will end a server.
    watchInterruptions: (request) => reportNotices(cloud, clock, request),

    list: async (request) => (await listAll(request)).map((server) => entryOf(server, request.tagKeys)),
  });
}

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
export const openCloud = openToyCloud;
