import { readFile } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import { type ClusterConfig, ConfigError } from './cluster-config.ts';
import { tokenFile } from './token-file.ts';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The configuration that Kubernetes gives to a pod: environment and the service account's files. */
export async function inClusterConfig(
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
  folder = SERVICE_ACCOUNT,
): Promise<ClusterConfig> {
  const host = env.KUBERNETES_SERVICE_HOST;
  const port = env.KUBERNETES_SERVICE_PORT;
  if (!host || !port) {
    throw new ConfigError(
      'this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; give the path of a kubeconfig',
    );
  }
  const read = async (name: string): Promise<string> => {
    try {
      return await readFile(`${folder}/${name}`, 'utf8');
    } catch (error) {
      throw new ConfigError(`the service account's ${folder}/${name} cannot be read; is it mounted?`, { cause: error });
    }
  };
  await read('token'); // Fails now rather than at the first request.
  const [ca, namespace] = await Promise.all([read('ca.crt'), read('namespace').catch(() => undefined)]);
  const authority = host.includes(':') ? `[${host}]` : host;
  return {
    server: `https://${authority}:${port}`,
    ca,
    ...(namespace === undefined ? {} : { namespace: namespace.trim() }),
    ...tokenFile(`${folder}/token`, clock),
  };
}
