import { randomBytes } from 'node:crypto';
import { builtinAdmission } from './admission/built-in/index.ts';
import { setUpAdmission, type WebhookTransport } from './admission/index.ts';
import { type Clock, realClock } from './apimachinery/objects/clock.ts';
import type { ApiObject } from './apimachinery/objects/object.ts';
import { administrator, MASTERS } from './apimachinery/users/user.ts';
import { Authenticator } from './auth/authentication/authenticator.ts';
import { ISSUER } from './auth/authentication/service-account-tokens.ts';
import { createAccessAuthority, setUpAccess } from './auth/index.ts';
import { type CertificateAuthority, createAuthority, createKey, type KeyPair } from './certificates/authority.ts';
import { keepAuthority, keepServiceAccountKey, keepToken } from './certificates/keep.ts';
import { renderKubeconfig } from './certificates/kubeconfig.ts';
import { createSigner, type Signer } from './certificates/signer.ts';
import type { ControllerEnvironment, EvictionRules } from './controllers/index.ts';
import { alphaKinds } from './kinds/alpha/index.ts';
import { builtinKinds } from './kinds/index.ts';
import { ensureSystemObjects } from './registry/bootstrap.ts';
import { terminatingCrds } from './registry/crds/crd-cleanup.ts';
import { CrdLifecycle, withCrdStrategy } from './registry/crds/crd-lifecycle.ts';
import { EVENT_TTL_MS, expireEvents } from './registry/event-expiry.ts';
import { advertisedBy, keepKubernetesService } from './registry/kubernetes-service.ts';
import { namespaceLifecycle } from './registry/lifecycle.ts';
import { legacyBinding } from './registry/subresources/binding.ts';
import { KindRegistry } from './resources/kind-registry.ts';
import { type Call, type Features, Registry } from './resources/registry.ts';
import { fromFetch, toFetch } from './server/fetch.ts';
import { Handler, type RequestLogEntry } from './server/handler.ts';
import { type Listener, listen } from './server/listener.ts';
import { RequestMetrics } from './server/metrics/request-metrics.ts';
import { type PlaneRequest, type PlaneResponse, transportTo } from './server/transport.ts';
import { FileStore } from './store/file-store.ts';
import { MemoryStore } from './store/memory-store.ts';
import type { Store, StoreSnapshot } from './store/store.ts';

export type { RequestLogEntry } from './server/handler.ts';
export type { PlaneRequest, PlaneResponse } from './server/transport.ts';

/** The options of a control plane. */
export interface ControlPlaneOptions {
  /** The clock for all times and timers (default: the clock of the system). */
  readonly clock?: Clock;
  /** Returns a random number in [0, 1), for generated names, uids and tokens. */
  readonly random?: () => number;
  /**
   * `maxBytes` limits the size of the store in a folder. If `snapshot` is set, the store is in memory and starts with
   * the content of the snapshot.
   */
  readonly store?:
    | 'memory'
    | { readonly dir: string; readonly maxBytes?: number }
    | { readonly snapshot: StoreSnapshot; readonly bumpRevision?: number };
  /**
   * The TCP port. For the port 0, the system selects a free port. Without `port`, the control plane opens no socket,
   * and only this process can send requests.
   */
  readonly port?: number;
  /**
   * The IPv4 address in the Endpoints of the Service `default/kubernetes`. With a socket, the default is the first
   * address of this host, as in kube-apiserver. Without a socket, the default is 192.0.2.1. The server listens only on
   * 127.0.0.1.
   */
  readonly advertiseAddress?: string | undefined;
  readonly controllers?: boolean | readonly string[];
  /**
   * The controllers start after this promise resolves. A server process can respond to requests before the controllers
   * start.
   */
  readonly controllersAfter?: Promise<unknown>;
  /** The eviction rules have the names and defaults of the kube-controller-manager flags. */
  readonly evictionRules?: Partial<EvictionRules>;
  readonly crds?: readonly object[];
  /**
   * Alpha API versions that the control plane serves in addition, as in `--runtime-config` of kube-apiserver. The only
   * supported version is `lifecycle.k8s.io/v1alpha1` with the kinds EvictionRequest and Eviction.
   */
  readonly runtimeConfig?: readonly string[] | undefined;
  /** Alpha features that the control plane has in addition, as in `--feature-gates` of kube-apiserver. The default is none. */
  readonly features?: Features | undefined;
  /** The bearer token of the administrator. The default is the token in the data folder. Without a data folder, the token is random. */
  readonly adminToken?: string;
  /** Whether a request from this process has the permissions of the administrator if the request has no credentials. */
  readonly trustInProcess?: boolean;
  readonly requestLog?: ((entry: RequestLogEntry) => void) | undefined;
  readonly onControllerError?: (controller: string, key: string, error: unknown) => void;
  /**
   * Called when the store fails permanently. Afterwards, the store acknowledges no write. A full store does not count
   * as a permanent failure.
   */
  readonly onStoreFailure?: (error: Error) => void;
  /** Reports each failed checkpoint of the store. A failed checkpoint loses no write, but the log of the store grows. */
  readonly onCheckpointError?: (error: Error) => void;
  /** Sends calls to admission webhooks (default: HTTPS). */
  readonly webhookTransport?: WebhookTransport;
  /**
   * The default of `eventTtlMs` is an hour, as for `--event-ttl` of kube-apiserver. If `eventTtlMs` is 0, Events never
   * expire.
   */
  readonly eventTtlMs?: number | undefined;
  /** The age in milliseconds up to which watches and pages can read changes (default: 5 minutes). */
  readonly historyMs?: number;
}

/** A running control plane. */
export interface ControlPlane {
  /**
   * A request without an `Authorization` header has the permissions of the administrator. The response to a watch is a
   * stream of JSON lines. The stream ends when the signal of the request aborts.
   */
  fetch(request: Request): Promise<Response>;
  /** Handles a request from this process faster than {@link fetch}. */
  transport(request: PlaneRequest): Promise<PlaneResponse>;
  /**
   * Returns a kubeconfig (YAML) with the CA, the token and a client certificate of the administrator. Without a socket,
   * the server in the kubeconfig is `https://127.0.0.1`.
   */
  kubeconfig(): string;
  readonly url: string | undefined;
  readonly adminToken: string;
  readonly caCertificate: string | undefined;
  /** Returns a copy of the store. Another control plane can start with the snapshot. */
  snapshot(): StoreSnapshot;
  /**
   * Removes the history of earlier changes, like a compaction of etcd. A later watch or page from an older version
   * fails with the status 410.
   */
  compact(): void;
  /** Ends watches and controllers, and closes the socket and the store. */
  close(): Promise<void>;
}

const SECRET_TOKEN_SECONDS = 100 * 365 * 86_400;

const systemCall: Call = { user: administrator, userAgent: 'kube-apiserver', warn: () => undefined };

const hexToken = (random: () => number): string =>
  Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('');

/**
 * Starts a control plane in this process.
 * @throws Error if the port or the store is not available. The message of the error is one sentence
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const clock = options.clock ?? realClock;
  const limits = options.historyMs === undefined ? {} : { maxAgeMs: options.historyMs };
  const { store: kept = 'memory' } = options;
  const folder = kept !== 'memory' && 'dir' in kept ? kept : undefined;
  const restored = kept !== 'memory' && 'snapshot' in kept ? kept : undefined;
  const dir = folder?.dir;
  const store: Store =
    dir === undefined
      ? restored
        ? MemoryStore.of(restored.snapshot, clock, limits, restored.bumpRevision)
        : new MemoryStore(clock, limits)
      : FileStore.open(dir, clock, {
          limits,
          maxBytes: folder?.maxBytes,
          onFailure: options.onStoreFailure,
          onCheckpointError: options.onCheckpointError,
        });
  try {
    return await serve(options, store, clock, dir);
  } catch (error) {
    store.close();
    throw error;
  }
}

async function serve(
  options: ControlPlaneOptions,
  store: Store,
  clock: Clock,
  dir: string | undefined,
): Promise<ControlPlane> {
  const random = options.random ?? Math.random;
  const kinds = new KindRegistry([...builtinKinds.map(withCrdStrategy), ...alphaKinds(options.runtimeConfig ?? [])]);
  const keptKey = dir === undefined ? undefined : keepServiceAccountKey(dir);
  // Without a folder, the control plane creates the key for service account tokens when it signs the first token.
  const access = createAccessAuthority({ store, clock, random }, () => keptKey ?? createKey());
  const { authorize, tokens } = access;
  const { features } = options;
  const registry = new Registry({ store, kinds, clock, random, authorize, tokens, features });
  const crds = await fillRegistry(registry, options.crds ?? [], dir === undefined);
  const stopExpiry = expireEvents(registry, options.eventTtlMs ?? EVENT_TTL_MS);

  const adminToken =
    options.adminToken ??
    (dir === undefined ? hexToken(random) : keepToken(dir, () => randomBytes(16).toString('hex')));
  const control = setUpAccess(registry, access, { adminToken, trustInProcess: options.trustInProcess !== false });
  setUpAdmission(registry, options.webhookTransport);
  registry.reviews.set('/bindings', legacyBinding(registry));
  const metrics = new RequestMetrics(registry);
  const handler = new Handler({ registry, ...control, clock, requestLog: options.requestLog, metrics });

  let made: CertificateAuthority | undefined;
  let adminPair: KeyPair | undefined;
  /** Without a socket, the control plane creates the CA for the first certificate request. */
  const authorityOf = (): CertificateAuthority => {
    made ??= dir === undefined ? createAuthority(clock.now()) : keepAuthority(dir, clock.now());
    return made;
  };
  const caCertificate = options.port === undefined ? undefined : authorityOf().certificate;
  const listener = options.port === undefined ? undefined : await listenOn(handler, options.port, authorityOf());
  const url = listener === undefined ? undefined : `https://127.0.0.1:${listener.port}`;
  const kubeconfig = (): string => {
    if (url === undefined) return renderKubeconfig({ server: 'https://127.0.0.1', token: adminToken, caCertificate });
    adminPair ??= authorityOf().issueClientPair({ commonName: administrator.name, organizations: [MASTERS] });
    return renderKubeconfig({ server: url, token: adminToken, caCertificate, client: adminPair });
  };
  const advertised = advertisedBy(options.advertiseAddress, listener?.port);
  const stopService = await keepKubernetesService(registry, systemCall, advertised, (error) =>
    options.onControllerError?.('kubernetes-service', 'default/kubernetes', error),
  );
  const stopping = new AbortController();
  const stop = async (): Promise<void> => {
    stopping.abort();
    stopService();
    crds.stop();
    stopExpiry();
    await listener?.close();
  };
  const environment = controllerEnvironment(registry, options, caCertificate, createSigner(authorityOf, clock));
  await startControllers(options, environment, stopping.signal).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    fetch: async (request) => toFetch(await handler.handle(fromFetch(request, true)), request),
    transport: transportTo((request) => handler.handle(request)),
    kubeconfig,
    url,
    adminToken,
    caCertificate,
    snapshot: () => store.snapshot(),
    compact: () => store.compact(),
    close: async () => {
      await stop();
      try {
        await store.settled();
      } finally {
        store.close();
      }
    },
  };
}

async function fillRegistry(registry: Registry, crds: readonly object[], isInMemory: boolean): Promise<CrdLifecycle> {
  registry.admission.add(terminatingCrds);
  registry.admission.add(namespaceLifecycle(registry));
  for (const plugin of builtinAdmission(registry)) registry.admission.add(plugin);
  await ensureSystemObjects(registry, systemCall);
  const lifecycle = new CrdLifecycle(registry);
  lifecycle.start();
  await lifecycle.install(systemCall, crds as readonly ApiObject[], isInMemory);
  return lifecycle;
}

/**
 * Opens the TCP socket of the server.
 * @throws Error if the port is not available. The message of the error is one sentence
 */
async function listenOn(handler: Handler, port: number, authority: CertificateAuthority): Promise<Listener> {
  const { key, certificate } = authority.issueServer(['127.0.0.1', 'localhost', 'kubernetes.default.svc']);
  return listen(handler, { port, key, certificate, caCertificate: authority.certificate }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new Error(
        error.code === 'EADDRINUSE'
          ? `port ${port} of 127.0.0.1 is in use by another program`
          : `cannot use port ${port} of 127.0.0.1: ${error.message}`,
      );
    },
  );
}

function controllerEnvironment(
  registry: Registry,
  options: ControlPlaneOptions,
  caCertificate: string | undefined,
  signer: Signer,
): ControllerEnvironment {
  const { clock, random, tokens } = registry;
  return {
    client: new Handler({
      registry,
      authenticator: new Authenticator([], true),
      authorize: () => ({ allowed: true, reason: '' }),
      clock,
    }),
    clock,
    random,
    caCertificate,
    evictionRules: options.evictionRules,
    signer,
    accountToken: (account, bound) =>
      tokens.issue({ account, bound, audiences: [ISSUER], expirationSeconds: SECRET_TOKEN_SECONDS }),
    onError: options.onControllerError,
  };
}

/**
 * Starts the controllers of the control plane. With `controllersAfter`, the function returns before the controllers
 * start.
 */
async function startControllers(
  options: ControlPlaneOptions,
  environment: ControllerEnvironment,
  signal: AbortSignal,
): Promise<void> {
  const start = async (): Promise<void> => {
    if (options.controllers === false) return;
    const { builtinControllers } = await import('./controllers/index.ts');
    const { controllers = true, runtimeConfig } = options;
    if (!signal.aborted) await builtinControllers(environment, controllers, runtimeConfig).start(signal);
  };
  if (options.controllersAfter === undefined) return start();
  options.controllersAfter.then(start).catch((error: unknown) => options.onControllerError?.('controllers', '', error));
}
