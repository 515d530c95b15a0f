import type { Random } from '../../base/random.ts';
import type { Clock } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import { again, type Controller, type Outcome } from '../../contract/controller.ts';
import { isAlreadyExists } from '../../contract/errors.ts';
import type { Informer } from '../../contract/informer.ts';
import type { Logger } from '../../contract/logger.ts';
import type { Draft, KubeObject, ResourceDefinition } from '../../contract/objects.ts';
import { createInformer } from '../../informer/create-informer.ts';
import { createController } from '../../queue/create-controller.ts';
import { type Secret, secrets } from '../../types/core.ts';
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
  type WebhookConfiguration,
} from '../../types/groups.ts';
import type { ServingPair } from '../server.ts';
import { type Authority, bundleOf, readCertificates, secretData } from './contents.ts';
import { issueAuthority, issueServing } from './issue.ts';
import { type CertificatePlan, planCertificates } from './plan.ts';

/**
 * All replicas share certificates in a Secret. The options name the Secret and contain the settings of the
 * certificates.
 */
export interface SelfMadeOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly secret: string;
  readonly names: readonly string[];
  /** The purpose of the certificates, for logs and for the name of the authority (default: webhooks). */
  readonly purpose?: string;
  /**
   * mcm writes the bundle of authorities into the webhook configurations with this name. If the name is empty, mcm
   * writes no bundle.
   */
  readonly configurations: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly use: (pair: ServingPair) => void;
}

const KEY = 'certificates';
const CONFIGURATIONS = [mutatingWebhookConfigurations, validatingWebhookConfigurations] as const;

/** Maintains a certificate authority and a serving certificate in a Secret that all replicas share. */
class CertificateKeeper {
  readonly #o: SelfMadeOptions;
  readonly #secret: Informer<Secret>;
  readonly #configurations: readonly [ResourceDefinition<WebhookConfiguration>, Informer<WebhookConfiguration>][];
  readonly #controller: Controller;
  readonly #purpose: string;
  #served = '';
  readonly #reported = new Set<string>();

  constructor(options: SelfMadeOptions) {
    this.#o = options;
    const { clock, random, log, namespace, configurations, purpose = 'webhooks' } = options;
    this.#purpose = purpose;
    this.#secret = this.#only(secrets, options.secret, namespace);
    this.#configurations = configurations
      ? CONFIGURATIONS.map((kind) => [kind, this.#only(kind, configurations)] as const)
      : [];
    this.#controller = createController({
      name: `certificates of ${purpose}`,
      concurrency: 1,
      reconcile: (_key, signal) => this.#reconcile(signal),
      clock,
      random,
      log,
    });
    this.#controller.watch(this.#secret, () => [KEY]);
    for (const [, informer] of this.#configurations) this.#controller.watch(informer, () => [KEY]);
  }

  #only<T extends KubeObject>(resource: ResourceDefinition<T>, name: string, namespace?: string): Informer<T> {
    const { client, clock, random, log } = this.#o;
    const fieldSelector = `metadata.name=${name}`;
    return createInformer<T>(client, resource, {
      clock,
      random,
      log,
      fieldSelector,
      namespace: namespace || undefined,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#controller.enqueue(KEY);
    const parts = [this.#secret, ...this.#configurations.map(([, informer]) => informer), this.#controller];
    await Promise.all(parts.map((part) => part.run(signal)));
  }

  async #reconcile(signal: AbortSignal): Promise<Outcome> {
    const { clock, names } = this.#o;
    const [stored] = this.#secret.store.list();
    const plan = planCertificates(readCertificates(stored?.data), names, clock.now());
    const secret = plan.changes ? await this.#renew(stored, plan, signal) : stored;
    const { authorities, serving } = readCertificates(secret?.data);
    // A client must trust the certificate authority before the server uses its certificate.
    await this.#publish(bundleOf(authorities), signal);
    if (serving && serving.cert !== this.#served) {
      this.#o.use({ cert: serving.cert, key: serving.key });
      this.#served = serving.cert;
      this.#o.log.info(`Serving ${this.#purpose} with a self-signed certificate`, {
        names: serving.names,
        until: serving.until.toISOString(),
      });
    }
    return again(Math.max(plan.lookAgainAt.getTime() - clock.now().getTime(), 1000));
  }

  async #renew(stored: Secret | undefined, plan: CertificatePlan, signal: AbortSignal): Promise<Secret> {
    const { client, namespace, secret: name, log } = this.#o;
    const made: Authority | undefined = plan.makeAuthority && {
      ...(await issueAuthority(plan.makeAuthority, this.#purpose)),
      ...plan.makeAuthority,
    };
    const authorities = made ? [made, ...plan.keep] : plan.keep;
    const before = readCertificates(stored?.data).serving;
    const pair = plan.serve ? await sign(plan.serve, made) : before;
    if (pair === undefined) throw new Error('the server has no certificate yet');
    const data = secretData(authorities, pair);
    const resource = client.resource(secrets, namespace);
    const written =
      stored === undefined
        ? await this.#create({ metadata: { name }, type: 'kubernetes.io/tls', data }, signal)
        : await resource.update({ ...stored, data: { ...stored.data, ...data } }, { signal });
    this.#secret.recordWrite(written);
    if (written.data?.['tls.crt'] !== data['tls.crt']) return written;
    log.info('Issued self-signed certificates', {
      purpose: this.#purpose,
      secret: `${namespace}/${name}`,
      authorities: authorities.length,
      newAuthority: made !== undefined,
      servedUntil: readCertificates(written.data).serving?.until.toISOString() ?? '',
    });
    return written;
  }

  /** If another replica has already created the Secret, this replica uses the certificates in the existing Secret. */
  async #create(draft: Draft<Secret>, signal: AbortSignal): Promise<Secret> {
    const resource = this.#o.client.resource(secrets, this.#o.namespace);
    try {
      return await resource.create(draft, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return resource.get(this.#o.secret, { signal });
    }
  }

  async #publish(bundle: string, signal: AbortSignal): Promise<void> {
    const caBundle = Buffer.from(bundle).toString('base64');
    for (const [kind, informer] of this.#configurations) {
      const [configuration] = informer.store.list();
      if (configuration === undefined) this.#missing(kind.kind);
      else if (configuration.webhooks?.some(({ clientConfig }) => clientConfig.caBundle !== caBundle)) {
        const webhooks = configuration.webhooks.map((webhook) => ({
          ...webhook,
          clientConfig: { ...webhook.clientConfig, caBundle },
        }));
        const { name, uid, resourceVersion } = configuration.metadata;
        const body = { metadata: { uid, resourceVersion }, webhooks };
        informer.recordWrite(await this.#o.client.resource(kind).patch(name, { type: 'merge', body }, { signal }));
        this.#o.log.info('Wrote the authority to the webhook configuration', { kind: kind.kind, name });
      }
    }
  }

  #missing(kind: string): void {
    if (this.#reported.has(kind)) return;
    this.#reported.add(kind);
    this.#o.log.warn('Webhook configuration missing: apply the objects of mcm install', {
      kind,
      name: this.#o.configurations,
    });
  }
}

function sign(
  { signer, names, ...validity }: NonNullable<CertificatePlan['serve']>,
  made: Authority | undefined,
): Promise<ServingPair> {
  const authority = signer ?? made;
  if (authority?.key === undefined)
    throw new Error('the process has no certificate authority that can sign the certificate');
  return issueServing({ cert: authority.cert, key: authority.key }, names, validity);
}

/** Maintains the shared certificates until the signal aborts. */
export const keepSelfMadeCertificates = (options: SelfMadeOptions, signal: AbortSignal): Promise<void> =>
  new CertificateKeeper(options).run(signal);
