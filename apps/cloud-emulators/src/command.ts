import { createAuthority, keepAuthority } from '@mcm/control-plane';
import {
  ConfigError,
  createLogger,
  errorText,
  loadKubeconfig,
  makeFolder,
  type Random,
  realClock,
  undiciTransport,
} from '@mcm/kube';
import { MemoryStore, type NodeCluster, openSqliteStore, StoreError } from '@mcm/provider-local';
import { SOVEREIGN_HOSTS } from './arm/sovereign.ts';
import { createEmulator } from './create.ts';
import { type EmulatorFlags, parseFlags } from './flags.ts';
import { hollowKubelets } from './machines/hollow-kubelets.ts';
import { withAdmin } from './server/admin.ts';
import { type Listener, listen } from './server/listen.ts';

const KUBELET_CONNECTIONS = 16;
const random: Random = { next: Math.random };

async function main(): Promise<void> {
  const flags = parseFlags(process.argv.slice(2));
  const { provider, dataDir, operationMs, visibleAfterMs, pageSize } = flags;
  const log = createLogger({ level: flags.logLevel });
  if (dataDir !== undefined) useFolder(dataDir);
  const nodeCluster = flags.nodeKubeconfig === undefined ? undefined : await readNodeCluster(flags.nodeKubeconfig);
  // The emulator opens its port before it opens its data. If the port is already in use, the data stays unchanged.
  const listener = await open(flags, log);
  const store = dataDir === undefined ? new MemoryStore() : openSqliteStore(dataDir);
  const power = hollowKubelets({
    clock: realClock,
    random,
    log,
    store,
    connect: ({ server, ca, clientCertificate }) =>
      undiciTransport({
        server,
        connections: clientCertificate ? 1 : KUBELET_CONNECTIONS,
        ca,
        clientCertificate,
      }),
    nodeCluster,
  });
  const emulator = createEmulator(provider, {
    clock: realClock,
    operationMs,
    visibleAfterMs,
    power,
    store,
    origin: listener.origin,
    account: process.env.MCM_EMULATOR_ACCOUNT,
    pageSize,
  });
  emulator.resume();
  listener.serve(withAdmin(emulator));
  endWithParent(async () => {
    await listener.close();
    await power.close();
    store.close();
  });
  process.stdout.write(`ready ${listener.origin}\n`);
}

function useFolder(dataDir: string): void {
  try {
    makeFolder(dataDir, 0o700);
  } catch (error) {
    throw new ConfigError(`cannot use --data-dir ${dataDir}: ${errorText(error)}; use another directory`);
  }
}

/**
 * Opens the port of the emulator. The emulator of Azure uses TLS, because the clients of Azure send tokens only over
 * TLS.
 */
function open({ provider, port, dataDir }: EmulatorFlags, log: ReturnType<typeof createLogger>): Promise<Listener> {
  if (provider !== 'azure') return listen({ port, log });
  const now = realClock.now();
  const authority = dataDir === undefined ? createAuthority(now) : keepAuthority(dataDir, now);
  const tls = authority.issueServer(['127.0.0.1', 'localhost', ...SOVEREIGN_HOSTS]);
  return listen({ port, log, tls, hosts: SOVEREIGN_HOSTS });
}

async function readNodeCluster(file: string): Promise<NodeCluster> {
  const config = await loadKubeconfig(file);
  const { server, ca } = config;
  return {
    server,
    transport: undiciTransport({ ...config, connections: KUBELET_CONNECTIONS }),
    bare: undiciTransport({ server, connections: KUBELET_CONNECTIONS, ca }),
  };
}

/** Stops the emulator after SIGTERM, after Ctrl-C, or when the parent process ends. */
function endWithParent(stopAll: () => Promise<void>): void {
  let stopping = false;
  const end = (): void => {
    if (stopping) return;
    stopping = true;
    stopAll().then(() => process.exit(0), fail);
  };
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  if (process.channel) process.once('disconnect', end);
}

function fail(error: unknown): void {
  const busy = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  const known = busy || error instanceof ConfigError || error instanceof StoreError;
  const stack = known || !(error instanceof Error) ? '' : `${error.stack}\n`;
  const hint = busy ? '; use another port with --port, or 0 for a free port' : '';
  process.stderr.write(`${stack}cloud-emulator: ${errorText(error)}${hint}\n`);
  process.exit(1);
}

main().catch(fail);
