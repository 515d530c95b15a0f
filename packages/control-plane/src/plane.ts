import { randomBytes } from 'node:crypto';
import { builtinAdmission } from './admission/built-in/index.ts';
import { setUpAdmission, type WebhookTransport } from './admission/index.ts';
import { type Clock, realClock } from './apimachinery/objects/clock.ts';
import type { ApiObject } from './apimachinery/objects/object.ts';
import { administrator } from './apimachinery/users/user.ts';
import { Authenticator } from './auth/authenticator.ts';
import { setUpAccess } from './auth/index.ts';
import { ISSUER } from './auth/service-account-tokens.ts';
import { type CertificateAuthority, createAuthority, createKey } from './certificates/authority.ts';
import { keepAuthority, keepServiceAccountKey, keepToken } from './certificates/keep.ts';
import { renderKubeconfig } from './certificates/kubeconfig.ts';
import { createSigner } from './certificates/signer.ts';
import type { EvictionRules } from './controllers/index.ts';
import { builtinKinds, systemObjects } from './kinds/index.ts';
import { ensureObject, ensureSystemObjects } from './registry/bootstrap.ts';
import { terminatingCrds } from './registry/crds/crd-cleanup.ts';
import { CrdLifecycle, withCrdStrategy } from './registry/crds/crd-lifecycle.ts';
import { EVENT_TTL_MS, expireEvents } from './registry/event-expiry.ts';
import { namespaceLifecycle } from './registry/lifecycle.ts';
import { legacyBinding } from './registry/subresources/binding.ts';
import { KindRegistry } from './resources/kind-registry.ts';
import { type Call, Registry } from './resources/registry.ts';
import { fromFetch, toFetch } from './server/fetch.ts';
import { Handler, type RequestLogEntry } from './server/handler.ts';
import { type Listener, listen } from './server/listener.ts';
import { type PlaneRequest, type PlaneResponse, transportTo } from './server/transport.ts';
import { FileStore } from './store/file-store.ts';
import { MemoryStore } from './store/memory-store.ts';
import type { Store, StoreSnapshot } from './store/store.ts';

export type { RequestLogEntry } from './server/handler.ts';
export type { PlaneRequest, PlaneResponse } from './server/transport.ts';

/** How a control plane is started; everything has a default. */
export interface ControlPlaneOptions {
  /** Where time comes from; default: the wall clock. */
  readonly clock?: Clock;
  /** Random number in [0, 1), for generated names, uids and tokens; default: the system's. */
  readonly random?: () => number;
  /**
   * `memory` (default), or the folder in which store, certificates and tokens are kept; `maxBytes`: how large the store may grow.
   * With a snapshot: in memory, and what the snapshot holds is there from the start.
   */
  readonly store?:
    | 'memory'
    | { readonly dir: string; readonly maxBytes?: number }
    | { readonly snapshot: StoreSnapshot; readonly bumpRevision?: number };
  /** TCP port on 127.0.0.1; 0 picks a free one. Absent: no socket, in process only. */
  readonly port?: number;
  /** Which controllers run: all (default), none, or those named. */
  readonly controllers?: boolean | readonly string[];
  /**
   * When the controllers begin; default: at once, so that they run when the plane is handed out. A server of its own answers first and starts
   * them after that, as a controller manager beside it would.
   */
  readonly controllersAfter?: Promise<unknown>;
  /** How fast pods leave lost nodes, in the words of kube-controller-manager's flags and with its defaults. */
  readonly evictionRules?: Partial<EvictionRules>;
  /** CustomResourceDefinitions that are there from the start. */
  readonly crds?: readonly object[];
  /** Token of the administrator; default: a fresh random one (with a folder: the one kept there). */
  readonly adminToken?: string;
  /** Whether a request in process without credentials is the administrator's (default), or anonymous. */
  readonly trustInProcess?: boolean;
  /** Called once for every answered request. */
  readonly requestLog?: (entry: RequestLogEntry) => void;
  /** Told of work of a controller that failed and will be tried again. */
  readonly onControllerError?: (controller: string, key: string, error: unknown) => void;
  /** Told once when the store can no longer be written (not when it is full); nothing is acknowledged from then on. */
  readonly onStoreFailure?: (error: Error) => void;
  /** Carries calls to admission webhooks; default: HTTPS. */
  readonly webhookTransport?: WebhookTransport;
  /** How long an Event is kept after its last write, in milliseconds; default an hour, as kube-apiserver's `--event-ttl`; 0: until it is deleted. */
  readonly eventTtlMs?: number;
  /** How long a change stays known to watches and pages, in milliseconds; default 5 minutes. */
  readonly historyMs?: number;
}

/** A running control plane. */
export interface ControlPlane {
  /**
   * Answers one request in process. A request without an `Authorization` header is the administrator's. Watches are
   * streams of JSON lines that end with the request's signal.
   */
  fetch(request: Request): Promise<Response>;
  /** The same for the clients of `@mcm/kube`, at a fraction of the work: the transport of one whose user is the administrator. */
  transport(request: PlaneRequest): Promise<PlaneResponse>;
  /** A kubeconfig (YAML) with the CA and the administrator's token. Without a socket its server is `https://127.0.0.1`. */
  kubeconfig(): string;
  /** `https://127.0.0.1:PORT`; undefined without a socket. */
  readonly url: string | undefined;
  readonly adminToken: string;
  /** The CA's certificate (PEM); undefined without a socket. */
  readonly caCertificate: string | undefined;
  /** A backup of the store, which another plane can be started with. */
  snapshot(): StoreSnapshot;
  /** Ends watches, controllers and the socket, and closes the store. */
  close(): Promise<void>;
}

/** Tokens in Secrets do not end before these do. */
const SECRET_TOKEN_SECONDS = 100 * 365 * 86_400;

const systemCall: Call = { user: administrator, userAgent: 'kube-apiserver', warn: () => undefined };

const hexToken = (random: () => number): string =>
  Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('');

/** Starts a control plane in this process. @throws Error in one sentence when the port or the store cannot be had */
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
          ...(options.onStoreFailure === undefined ? {} : { onFailure: options.onStoreFailure }),
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
  const kinds = new KindRegistry(builtinKinds.map(withCrdStrategy));
  const registry = new Registry({ store, kinds, clock, random });
  registry.admission.add(terminatingCrds);
  registry.admission.add(namespaceLifecycle(registry));
  for (const plugin of builtinAdmission(registry)) registry.admission.add(plugin);
  await ensureSystemObjects(registry, systemCall);
  for (const { object, fieldManager } of systemObjects) await ensureObject(registry, systemCall, object, fieldManager);
  const crds = new CrdLifecycle(registry);
  crds.start();
  for (const crd of options.crds ?? []) await ensureObject(registry, systemCall, crd as ApiObject);
  crds.settle();

  const stopExpiry = expireEvents(registry, options.eventTtlMs ?? EVENT_TTL_MS);

  const adminToken =
    options.adminToken ??
    (dir === undefined ? hexToken(random) : keepToken(dir, () => randomBytes(16).toString('hex')));
  const access = setUpAccess(registry, {
    adminToken,
    trustInProcess: options.trustInProcess !== false,
    serviceAccountKey: dir === undefined ? createKey() : keepServiceAccountKey(dir),
  });
  setUpAdmission(registry, options.webhookTransport);
  registry.reviews.set('/bindings', legacyBinding(registry));
  const handler = new Handler({ registry, ...access, clock, requestLog: options.requestLog });

  // The controllers' own requests are neither authenticated nor logged.
  const inside = new Handler({
    registry,
    authenticator: new Authenticator([], true),
    authorize: () => ({ allowed: true, reason: '' }),
    clock,
  });

  let made: CertificateAuthority | undefined;
  /** Without a socket there is one only when a certificate is asked for. */
  const authorityOf = (): CertificateAuthority => {
    made ??= dir === undefined ? createAuthority(clock.now()) : keepAuthority(dir, clock.now());
    return made;
  };
  let listener: Listener | undefined;
  let authority: CertificateAuthority | undefined;
  if (options.port !== undefined) {
    authority = authorityOf();
    const { key, certificate } = authority.issueServer(['127.0.0.1', 'localhost', 'kubernetes.default.svc']);
    const { port } = options;
    listener = await listen(handler, { port, key, certificate, caCertificate: authority.certificate }).catch(
      (error: NodeJS.ErrnoException) => {
        throw new Error(
          error.code === 'EADDRINUSE'
            ? `port ${port} of 127.0.0.1 is in use by another program`
            : `port ${port} of 127.0.0.1 cannot be had: ${error.message}`,
        );
      },
    );
  }
  const url = listener === undefined ? undefined : `https://127.0.0.1:${listener.port}`;
  const stopping = new AbortController();
  const startControllers = async (): Promise<void> => {
    if (options.controllers === false) return;
    // A quarter of what a start has to read is theirs.
    const { builtinControllers } = await import('./controllers/index.ts');
    if (stopping.signal.aborted) return;
    const controllers = builtinControllers(
      {
        client: inside,
        clock,
        random,
        caCertificate: authority?.certificate,
        evictionRules: options.evictionRules,
        signer: createSigner(authorityOf, clock),
        accountToken: (account, bound) =>
          registry.tokens?.issue({ account, bound, audiences: [ISSUER], expirationSeconds: SECRET_TOKEN_SECONDS }),
        ...(options.onControllerError === undefined ? {} : { onError: options.onControllerError }),
      },
      options.controllers ?? true,
    );
    await controllers.start(stopping.signal);
  };
  const stop = async (): Promise<void> => {
    stopping.abort();
    crds.stop();
    stopExpiry();
    await listener?.close();
  };
  if (options.controllersAfter === undefined) {
    await startControllers().catch(async (error: unknown) => {
      await stop();
      throw error;
    });
  } else {
    options.controllersAfter
      .then(startControllers)
      .catch((error: unknown) => options.onControllerError?.('controllers', '', error));
  }
  return {
    fetch: async (request) => toFetch(await handler.handle(fromFetch(request, true)), request),
    transport: transportTo((request) => handler.handle(request)),
    kubeconfig: () =>
      renderKubeconfig({
        server: url ?? 'https://127.0.0.1',
        token: adminToken,
        caCertificate: authority?.certificate,
      }),
    url,
    adminToken,
    caCertificate: authority?.certificate,
    snapshot: () => store.snapshot(),
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
