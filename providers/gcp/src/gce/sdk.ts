import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { isRecord } from '@mcm/kube';
import { type Description, slimDescriptions } from './descriptions.ts';

/**
 * The options of a call. The timers and retries of the SDK are disabled. The timers and retries of the driver use the
 * clock of the process.
 */
interface CallOptions {
  readonly timeout: number;
  readonly retry: { readonly retryCodes: readonly number[] };
  readonly autoPaginate?: boolean;
}

type Method<Answer> = (request: object, options: CallOptions) => Promise<Answer>;

/** The types of the SDK clients. The declarations of the SDK have 33 MB, and every type check would read them. */
export interface Clients {
  readonly instances: {
    readonly insert: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly get: Method<readonly [unknown]>;
    readonly delete: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly stop: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly start: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly suspend: Method<readonly [{ readonly latestResponse: unknown }]>;
    readonly resume: Method<readonly [{ readonly latestResponse: unknown }]>;
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

/** A call of the SDK, with the function that sends its request. */
export interface Call {
  /** Sends a request. @returns the checked response as JSON */
  readonly send: (request: SdkRequest) => Promise<string>;
  /** The request body from the driver, without the empty maps that the SDK would add. */
  readonly body?: object | undefined;
}

/** Returns new options for a call, because the SDK changes the options. */
export const once = (): CallOptions => ({ timeout: Number.POSITIVE_INFINITY, retry: { retryCodes: [] } });

interface Running extends Call {
  /** The error that was thrown. The SDK replaces the thrown error with another error. */
  thrown?: unknown;
}

const calls = new AsyncLocalStorage<Running>();

/**
 * The SDK failed to write a request or to read a response. The error of the SDK is omitted, because it quotes the
 * request or the response with the user data.
 */
class SdkFailed extends Error {
  override readonly name = 'SdkFailed';
}

/**
 * @param callName the name of the call in errors
 * @throws the error of `send`, or SdkFailed
 */
export async function inCall<T>(callName: string, call: Call, work: () => Promise<T>): Promise<T> {
  const running: Running = { ...call };
  try {
    return await calls.run(running, work);
  } catch {
    if (running.thrown !== undefined) throw running.thrown;
    throw new SdkFailed(`${callName}: the response is not from Compute Engine, or the request is unknown`);
  }
}

/** Replaces the login and the network access of the SDK. Requests use the connections of the driver. */
const authClient = {
  getRequestHeaders: async () => new Headers(),
  fetch: async (address: string, { method, body }: { readonly method: string; readonly body?: unknown }) => {
    const call = calls.getStore();
    if (!call) throw new Error(`${method} ${address}: the SDK sent a request outside of a call`);
    const { pathname, search } = new URL(address);
    // For a method without a body, the SDK passes an empty text as the body.
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

/** Returns the message without the members that the driver did not set. */
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

/**
 * Returns the clients, which are loaded with the first call. All accounts share the clients, because each call contains
 * its target.
 */
export function gceClients(): Clients {
  clients ??= makeClients();
  return clients;
}

/** Loads the SDK before the first call, because no machine should wait for it. */
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
  // Disables the log of the SDK, which an environment variable could enable for whole requests.
  gax.loggingUtils.setBackend(null);
  const { GrpcClient } = gax.fallback;
  class SlimClient extends GrpcClient {
    override loadProtoJSON(json: Description): unknown {
      return super.loadProtoJSON(slimDescriptions(json));
    }
  }
  const slim = { ...gax, fallback: { ...gax.fallback, GrpcClient: SlimClient } };
  // With the options, the SDK reads neither the environment nor a metadata server.
  const options = () => ({ authClient, apiEndpoint: 'compute.googleapis.com', universeDomain: 'googleapis.com' });
  return {
    instances: new instances.InstancesClient(options(), slim),
    operations: new operations.ZoneOperationsClient(options(), slim),
  };
}
