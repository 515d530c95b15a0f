import { isIP } from 'node:net';
import {
  type Clock,
  ConfigError,
  issueAuthority,
  issueServing,
  type Logger,
  type ServingPair,
  serveCertificateFiles,
} from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import type { Gate } from './access/gate.ts';
import { type DashboardOptions, type DashboardServer, startDashboard } from './server.ts';

const VALID_MS = 365 * 86_400_000;

/**
 * Returns true if the address is a loopback address, which needs no login.
 * @throws UserError if the text is not an IP address
 */
export function isLoopback(address: string): boolean {
  if (isIP(address) === 0) throw new UserError(`--listen ${address}: must be an IP address, for example 0.0.0.0`);
  return address === '127.0.0.1';
}

async function selfSigned(host: string, clock: Clock): Promise<ServingPair> {
  const now = clock.now().getTime();
  const validity = { from: new Date(now - 60_000), until: new Date(now + VALID_MS) };
  return issueServing(await issueAuthority(validity, 'dashboard'), ['localhost', host], validity);
}

/** @throws UserError if the certificate is invalid or the port is in use */
export async function startRemote(
  { host, certificates }: { readonly host: string; readonly certificates: string | undefined },
  gate: Gate,
  options: Omit<DashboardOptions, 'remote'>,
  log: Logger,
): Promise<DashboardServer> {
  const { clock } = options;
  const start = (pair: ServingPair) => startDashboard({ ...options, remote: { host, pair, gate } });
  if (certificates === undefined) return start(await selfSigned(host, clock));
  const files = { directory: certificates, flag: '--tls-cert-dir' };
  const served = {
    use: () => undefined,
    unusable: (problem: string | undefined) => {
      if (problem !== undefined)
        log.warn('Cannot use the new certificate; continuing with the previous certificate', { problem });
    },
  };
  try {
    const { server, close } = await serveCertificateFiles(files, start, { clock, log, served });
    return {
      ...server,
      async close() {
        close();
        await server.close();
      },
    };
  } catch (error) {
    throw error instanceof ConfigError ? new UserError(error.message) : error;
  }
}
