import { type MachineDeployment, machineDeployments } from '@mcm/api';
import { admitDefaults, admitValid } from '@mcm/core';
import {
  type AdmissionHandler,
  type Clock,
  type KubeClient,
  keepSelfMadeCertificates,
  type Logger,
  type Random,
  type SelfMadeOptions,
  type ServedCertificate,
  type ServingPair,
  serveCertificateFiles,
  startAdmissionServer,
} from '@mcm/kube';

/** Returns the webhooks of the manager, by the path in their configurations. */
const webhookHandlers = (control: KubeClient): Readonly<Record<string, AdmissionHandler>> => ({
  '/default': admitDefaults,
  '/validate': admitValid(async (namespace): Promise<readonly MachineDeployment[]> => {
    const { items } = await control.resource(machineDeployments, namespace).list();
    return items;
  }),
});

export interface WebhookSettings {
  readonly host: string;
  /** The port of the webhooks. If the port is 0, the manager serves no webhooks. */
  readonly port: number;
  /** The folder of the certificates. If `certificates` is empty, the manager creates self-signed certificates. */
  readonly certificates: string;
  /** The settings for self-signed certificates. */
  readonly selfMade: Pick<SelfMadeOptions, 'namespace' | 'secret' | 'names' | 'configurations'>;
}

/** Returns the host names that an API server uses for a Service. */
export const serviceNames = (service: string, namespace: string): readonly string[] => [
  `${service}.${namespace}.svc`,
  `${service}.${namespace}.svc.cluster.local`,
];

export interface WebhookContext {
  readonly control: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly served: ServedCertificate;
}

type Stop = () => Promise<void>;

async function serveFromFiles(settings: WebhookSettings, { control, ...context }: WebhookContext): Promise<Stop> {
  const { host, port, certificates } = settings;
  const files = { directory: certificates, flag: '--webhook-cert-dir' };
  const serve = (pair: ServingPair) => startAdmissionServer({ host, port }, pair, webhookHandlers(control));
  const { server, close } = await serveCertificateFiles(files, serve, context);
  context.log.info('Serving webhooks', { port: server.port });
  return () => {
    close();
    return server.close();
  };
}

async function serveSelfMade(settings: WebhookSettings, context: WebhookContext): Promise<Stop> {
  const { host, port, selfMade } = settings;
  const { control, served, ...shared } = context;
  const server = await startAdmissionServer({ host, port }, undefined, webhookHandlers(control));
  const stop = new AbortController();
  const use = (pair: ServingPair): void => {
    server.use(pair);
    served.use(pair);
  };
  const kept = keepSelfMadeCertificates({ ...selfMade, ...shared, client: control, use }, stop.signal);
  context.log.info('Serving webhooks with self-signed certificates', { port: server.port });
  return async () => {
    stop.abort(new Error('the process stops'));
    await Promise.all([kept, server.close()]);
  };
}

/** Serves the webhooks until the returned function is called. Every replica of the manager serves the webhooks. */
export async function serveWebhooks(settings: WebhookSettings, context: WebhookContext): Promise<Stop | undefined> {
  if (settings.port === 0) return undefined;
  return settings.certificates === '' ? serveSelfMade(settings, context) : serveFromFiles(settings, context);
}
