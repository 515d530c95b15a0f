import { hostname } from 'node:os';
import { type ServedCertificate, serveCertificateFiles } from '../../admission/certificate-files.ts';
import { issueAuthority, issueServing } from '../../admission/self-made/issue.ts';
import type { ServingPair } from '../../admission/server.ts';
import type { Clock } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import type { Logger } from '../../contract/logger.ts';
import type { CommonFlags } from '../../flags/common-flags.ts';
import type { FlagValues } from '../../flags/flag.ts';
import { createAccess } from '../cluster/access.ts';
import type { HealthSources } from './health.ts';
import { type Guards, type HealthServer, startHealthServer, startSecureHealthServer } from './health-server.ts';

interface HealthEnvironment {
  readonly client: () => KubeClient | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly served: ServedCertificate;
}

const OWN_CERTIFICATE_MS = 10 * 365 * 24 * 3_600_000;

/** Creates a self-signed certificate, which only encrypts the connection because scrapers cannot verify it. */
async function ownPair(clock: Clock): Promise<ServingPair> {
  const from = new Date(clock.now().getTime() - 3_600_000);
  const validity = { from, until: new Date(from.getTime() + OWN_CERTIFICATE_MS) };
  return issueServing(await issueAuthority(validity), [hostname(), 'localhost', '127.0.0.1'], validity);
}

async function serveSecurely(
  flags: FlagValues<CommonFlags>,
  sources: HealthSources,
  guards: Guards,
  { clock, log, served }: HealthEnvironment,
): Promise<{ close(): Promise<void> }> {
  const directory = flags['tls-cert-dir'];
  const address = { host: flags['bind-address'], port: flags['secure-port'], flag: '--secure-port' };
  const serve = (pair: ServingPair) => startSecureHealthServer(address, pair, sources, guards);
  const own = async () => {
    const pair = await ownPair(clock);
    served.use(pair);
    return { server: await serve(pair), close: () => undefined };
  };
  const files = { directory, flag: '--tls-cert-dir' };
  const { server, close } = await (directory === ''
    ? own()
    : serveCertificateFiles(files, serve, { clock, log, served }));
  log.info('Serving health and metrics over TLS', { address: server.url });
  return {
    close: () => {
      close();
      return server.close();
    },
  };
}

/** Serves on one or two ports, as the flags require. */
export async function serveHealth(
  flags: FlagValues<CommonFlags>,
  sources: HealthSources,
  environment: HealthEnvironment,
): Promise<HealthServer> {
  const access = createAccess(environment);
  const guards: Guards = flags['metrics-auth'] === 'none' ? { debug: access } : { debug: access, metrics: access };
  const plain = { host: flags['bind-address'], port: flags.port, flag: '--port' };
  const server = await startHealthServer(plain, sources, guards);
  if (flags['secure-port'] === 0) return server;
  try {
    const secure = await serveSecurely(flags, sources, guards, environment);
    return {
      url: server.url,
      close: async () => {
        await Promise.all([server.close(), secure.close()]);
      },
    };
  } catch (error) {
    await server.close();
    throw error;
  }
}
