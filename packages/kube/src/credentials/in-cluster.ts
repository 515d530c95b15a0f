import { access } from 'node:fs/promises';
import type { Clock } from '../clock/clock.ts';
import { type ClusterConfig, ConfigError } from './cluster-config.ts';
import type { ReadText } from './follow-files.ts';
import { mustBeCertificate } from './key-pair.ts';
import { tokenFile } from './token-file.ts';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

interface InCluster {
  readonly clock: Clock;
  readonly readText: ReadText;
  readonly folder?: string;
}

/** Returns the configuration of a pod. */
export async function inClusterConfig(
  env: Readonly<Record<string, string | undefined>>,
  { clock, readText, folder = SERVICE_ACCOUNT }: InCluster,
): Promise<ClusterConfig> {
  const host = env.KUBERNETES_SERVICE_HOST;
  const port = env.KUBERNETES_SERVICE_PORT;
  if (!host || !port) {
    throw new ConfigError(
      'the process does not run in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; give the path of a kubeconfig',
    );
  }
  const must = async <T>(name: string, use: (path: string) => Promise<T>): Promise<T> => {
    try {
      return await use(`${folder}/${name}`);
    } catch (error) {
      throw new ConfigError(
        `the service account's ${folder}/${name} cannot be read; check that the volume is mounted`,
        { cause: error },
      );
    }
  };
  // mcm reads the token at the start, because a missing token would cause an error only at the first request.
  await must('token', access);
  const ca = await must('ca.crt', readText);
  mustBeCertificate({ text: ca, from: `${folder}/ca.crt` });
  const namespace = await readText(`${folder}/namespace`).catch(() => undefined);
  const authority = host.includes(':') ? `[${host}]` : host;
  return {
    server: `https://${authority}:${port}`,
    ca,
    from: { ca: `${folder}/ca.crt`, authorization: `${folder}/token` },
    namespace: namespace?.trim(),
    ...tokenFile(`${folder}/token`, clock),
  };
}
