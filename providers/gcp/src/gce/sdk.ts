import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { isRecord } from '@mcm/kube';
import { type Description, slimDescriptions } from './descriptions.ts';

/** Options of a call: the SDK must neither set timers nor repeat, for both are counted in one place, on the process's clock. */
interface CallOptions {
  readonly timeout: number;
  readonly retry: { readonly retryCodes: readonly number[] };
  readonly autoPaginate?: boolean;
}

type Method<Answer> = (request: object, options: CallOptions) => Promise<Answer>;

/** The used part of the SDK's clients. Their own types are 33 MB of declarations, which every type check would read. */
export interface Clients {
  readonly instances: {
    readonly insert: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly get: Method<readonly [unknown]>;
    readonly delete: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly getSerialPortOutput: Method<readonly [unknown]>;
    readonly list: Method<
      readonly [unknown, unknown, { readonly items?: readonly unknown[]; readonly nextPageToken?: string } | undefined]
    >;
  };
  readonly operations: { readonly get: Method<readonly [unknown]> };
}

/** A request as the SDK wrote it. */
export interface SdkRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body: string | undefined;
}

/** A call of the SDK. */
export interface Call {
  /** Sends the call's request. @returns the answer, judged, as JSON */
  readonly send: (request: SdkRequest) => Promise<string>;
  /** The driver's own body: the SDK adds maps that nothing has set. */
  readonly body?: object | undefined;
}

/** New options for each call, because the SDK changes them. */
export const once = (): CallOptions => ({ timeout: Number.POSITIVE_INFINITY, retry: { retryCodes: [] } });

interface Running extends Call {
  /** The error that `send` threw; the SDK replaces it by one of its own. */
  thrown?: unknown;
}

const calls = new AsyncLocalStorage<Running>();

/** Google's SDK could not write a request, or not read an answer. Its own error quotes them, with the user data. */
class SdkFailed extends Error {
  override readonly name = 'SdkFailed';
}

/**
 * Runs a call of the SDK. @param what names the call in errors
 * @throws what `send` threw, or SdkFailed
 */
export async function inCall<T>(what: string, call: Call, work: () => Promise<T>): Promise<T> {
  const running: Running = { ...call };
  try {
    return await calls.run(running, work);
  } catch {
    if (running.thrown !== undefined) throw running.thrown;
    throw new SdkFailed(`${what}: the answer is not from Compute Engine, or the request is unknown`);
  }
}

/** In place of a login and of sockets: the SDK's requests go to the call's `send`. */
const authClient = {
  getRequestHeaders: async () => new Headers(),
  fetch: async (address: string, { method, body }: { readonly method: string; readonly body?: unknown }) => {
    const call = calls.getStore();
    if (!call) throw new Error(`${method} ${address}: the SDK sent a request outside of a call`);
    const { pathname, search } = new URL(address);
    const given = body === undefined ? undefined : asGiven(JSON.parse(String(body)), call.body);
    try {
      const text = await call.send({
        method,
        path: pathname + search,
        body: given === undefined ? undefined : JSON.stringify(given),
      });
      return { ok: true, status: 200, headers: new Headers(), arrayBuffer: async () => Buffer.from(text) };
    } catch (thrown) {
      call.thrown = thrown;
      throw thrown;
    }
  },
};

/** The JSON of the SDK, without members that the driver did not set. */
function asGiven(written: unknown, given: unknown): unknown {
  if (Array.isArray(written) && Array.isArray(given)) return written.map((each, i) => asGiven(each, given[i]));
  if (!isRecord(written) || !isRecord(given)) return written;
  return Object.fromEntries(
    Object.entries(written).flatMap(([name, value]) => (name in given ? [[name, asGiven(value, given[name])]] : [])),
  );
}

/** The part of `google-gax` that the clients are made with. */
interface Gax {
  readonly fallback: {
    readonly GrpcClient: new (options: object) => { loadProtoJSON(json: Description): unknown };
  };
  readonly loggingUtils: { setBackend(backend: null): void };
}
type Client<T> = new (options: object, gax: object) => T;

const load = createRequire(import.meta.url);
let clients: Clients | undefined;

/** The clients, loaded by the first call. All accounts and endpoints share them, because each call contains its target. */
export function gceClients(): Clients {
  clients ??= makeClients();
  return clients;
}

/** Loads the SDK ahead of the first call, so that no machine waits for it. */
export async function loadSdk(): Promise<void> {
  gceClients();
}

function makeClients(): Clients {
  const gax = load('google-gax') as Gax;
  const instances = load('@google-cloud/compute/build/src/v1/instances_client.js') as {
    readonly InstancesClient: Client<Clients['instances']>;
  };
  const operations = load('@google-cloud/compute/build/src/v1/zone_operations_client.js') as {
    readonly ZoneOperationsClient: Client<Clients['operations']>;
  };
  // A variable of the environment would have it write whole requests to the log.
  gax.loggingUtils.setBackend(null);
  const { GrpcClient } = gax.fallback;
  class SlimClient extends GrpcClient {
    override loadProtoJSON(json: Description): unknown {
      return super.loadProtoJSON(slimDescriptions(json));
    }
  }
  const slim = { ...gax, fallback: { ...gax.fallback, GrpcClient: SlimClient } };
  // Given here, so that the SDK reads neither the environment nor a metadata server.
  const options = () => ({ authClient, apiEndpoint: 'compute.googleapis.com', universeDomain: 'googleapis.com' });
  return {
    instances: new instances.InstancesClient(options(), slim),
    operations: new operations.ZoneOperationsClient(options(), slim),
  };
}
