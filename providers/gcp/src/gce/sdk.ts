import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { isRecord } from '@mcm/kube';
import { type Description, slimDescriptions } from './descriptions.ts';

/** Options that disable the timers and retries of the SDK, because the driver uses the clock of the process. */
interface CallOptions {
  readonly timeout: number;
  readonly retry: { readonly retryCodes: readonly number[] };
  readonly autoPaginate?: boolean;
}

type Method<Answer> = (request: object, options: CallOptions) => Promise<Answer>;

/**
 * The driver declares the types itself, because the declarations of the SDK have 33 MB, and every type check would read
 * them.
 */
export interface Clients {
  readonly instances: {
    readonly insert: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly get: Method<readonly [unknown]>;
    readonly delete: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly stop: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly start: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly suspend: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly resume: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly setLabels: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly getSerialPortOutput: Method<readonly [unknown]>;
    readonly list: Method<
      readonly [unknown, unknown, { readonly items?: readonly unknown[]; readonly nextPageToken?: string } | undefined]
    >;
  };
  readonly operations: { readonly get: Method<readonly [unknown]> };
}

export interface SdkRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
}

export interface Call {
  /**
   * Sends the request and checks the response.
   * @returns the response as JSON
   */
  readonly send: (request: SdkRequest) => Promise<string>;
  /**
   * The properties of the body that the driver has set. The SDK adds empty maps, which must be removed before the
   * request is sent.
   */
  readonly body?: object | undefined;
}

/** Returns new options for an SDK call. */
export const once = (): CallOptions => ({ timeout: Number.POSITIVE_INFINITY, retry: { retryCodes: [] } });

interface Running extends Call {
  /** The error that `send` has thrown, because the SDK replaces it with another error. */
  thrown?: unknown;
}

const calls = new AsyncLocalStorage<Running>();

/** The error for a failure in the SDK. The message of the SDK is omitted, because it quotes the user data. */
class SdkFailed extends Error {
  override readonly name = 'SdkFailed';
}

/**
 * Runs a call of the SDK.
 * @param callName the name of the call in errors
 * @throws the error of `send`, or SdkFailed
 */
export async function inCall<T>(callName: string, call: Call, work: () => Promise<T>): Promise<T> {
  const running: Running = { ...call };
  try {
    return await calls.run(running, work);
  } catch {
    if (running.thrown !== undefined) throw running.thrown;
    throw new SdkFailed(
      `${callName}: the response is not from Compute Engine, or Compute Engine does not know the request`,
    );
  }
}

/** Replaces the login and the network access of the SDK. Requests are sent over the connections of the driver. */
const authClient = {
  getRequestHeaders: async () => new Headers(),
  fetch: async (address: string, { method, body }: { readonly method: string; readonly body?: unknown }) => {
    const call = calls.getStore();
    if (!call) throw new Error(`${method} ${address}: the SDK sent a request outside of a call`);
    const { pathname, search } = new URL(address);
    // For a method without a body, the SDK passes an empty text.
    const written: unknown = body === undefined ? undefined : JSON.parse(String(body));
    const given = isRecord(written) ? asGiven(written, call.body) : undefined;
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

/** Returns the message without properties that the driver did not set. */
function asGiven(written: unknown, given: unknown): unknown {
  if (Array.isArray(written) && Array.isArray(given)) return written.map((each, i) => asGiven(each, given[i]));
  if (!isRecord(written) || !isRecord(given)) return written;
  return Object.fromEntries(
    Object.entries(written).flatMap(([name, value]) => (name in given ? [[name, asGiven(value, given[name])]] : [])),
  );
}

interface Gax {
  readonly fallback: {
    readonly GrpcClient: new (options: object) => { loadProtoJSON(json: Description): unknown };
  };
  readonly loggingUtils: { setBackend(backend: null): void };
}
type Client<T> = new (options: object, gax: object) => T;

const load = createRequire(import.meta.url);
let clients: Clients | undefined;

export function gceClients(): Clients {
  clients ??= makeClients();
  return clients;
}

/** Loads the SDK before the first call, so that no machine waits for it. */
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
  // Disables the log of the SDK. With an environment variable, the SDK would log complete requests.
  gax.loggingUtils.setBackend(null);
  const { GrpcClient } = gax.fallback;
  class SlimClient extends GrpcClient {
    override loadProtoJSON(json: Description): unknown {
      return super.loadProtoJSON(slimDescriptions(json));
    }
  }
  const slim = { ...gax, fallback: { ...gax.fallback, GrpcClient: SlimClient } };
  // With these options, the SDK reads neither the environment nor a metadata server.
  const options = () => ({ authClient, apiEndpoint: 'compute.googleapis.com', universeDomain: 'googleapis.com' });
  return {
    instances: new instances.InstancesClient(options(), slim),
    operations: new operations.ZoneOperationsClient(options(), slim),
  };
}
