import { BootstrapTokens, type Machine } from '@mcm/api';
import {
  type Clock,
  errorText,
  ignoreNotFound,
  isAlreadyExists,
  isForbidden,
  type KubeClient,
  type Logger,
  type Random,
  type ResourceClient,
  type Secret,
  secrets,
} from '@mcm/kube';
import { draftToken, extendToken, tokenOf, tokenSecretName } from './bootstrap-token.ts';

export interface BootstrapTokenIssuer {
  ensure(machine: Machine, creationTimeoutMs: number): Promise<string>;
  livesUntil(machine: Machine): Date | undefined;
  /** If mcm has no permission to write the token, `extend` reports the problem and does not throw. */
  extend(machine: Machine, until: Date): Promise<void>;
  read(machine: Machine): Promise<string | undefined>;
  /** Deletes the token. If the deletion fails, `remove` does not throw, because the token expires later. */
  remove(machine: Machine): Promise<void>;
  issued(machine: Machine): boolean;
}

export interface TokenIssuerOptions {
  readonly client: KubeClient;
  readonly extraGroups: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

class Issuer implements BootstrapTokenIssuer {
  readonly #options: TokenIssuerOptions;
  readonly #secrets: ResourceClient<Secret>;
  readonly #issued = new Map<string, { readonly token: string; readonly until: number }>();

  readonly #lives = new Map<string, Date>();

  constructor(options: TokenIssuerOptions) {
    this.#options = options;
    this.#secrets = options.client.resource(secrets, BootstrapTokens.Namespace);
  }

  async ensure(machine: Machine, creationTimeoutMs: number): Promise<string> {
    const now = this.#options.clock.now();
    const known = this.#issued.get(machine.metadata.uid);
    if (known && known.until > now.getTime()) return known.token;
    const token = await this.#make(machine, creationTimeoutMs, now);
    this.#lives.set(machine.metadata.uid, new Date(now.getTime() + creationTimeoutMs));
    this.#issued.set(machine.metadata.uid, { token, until: now.getTime() + creationTimeoutMs / 2 });
    return token;
  }

  async #make(machine: Machine, creationTimeoutMs: number, now: Date): Promise<string> {
    const { extraGroups, random } = this.#options;
    const draft = draftToken(machine, { now, creationTimeoutMs, extraGroups, random });
    try {
      return this.#read(await this.#secrets.create(draft));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    // The caches do not contain the Secrets of kube-system, so mcm reads the token from the API server.
    const found = await this.#secrets.get(tokenSecretName(machine));
    const extension = extendToken(found, { now, creationTimeoutMs });
    if (!extension) return this.#read(found);
    return this.#read(await this.#secrets.patch(found.metadata.name, { type: 'merge', body: extension }));
  }

  #read(secret: Secret): string {
    const token = tokenOf(secret);
    if (token) return token;
    throw new Error(
      `Secret ${secret.metadata.namespace}/${secret.metadata.name} contains no bootstrap token; delete the Secret`,
    );
  }

  livesUntil(machine: Machine): Date | undefined {
    return this.#lives.get(machine.metadata.uid);
  }

  async extend(machine: Machine, until: Date): Promise<void> {
    const now = this.#options.clock.now();
    try {
      const found = await ignoreNotFound(this.#secrets.get(tokenSecretName(machine)));
      const creationTimeoutMs = until.getTime() - now.getTime();
      const extension = found && extendToken(found, { now, creationTimeoutMs });
      if (extension) await ignoreNotFound(this.#secrets.patch(found.metadata.name, { type: 'merge', body: extension }));
    } catch (error) {
      if (!isForbidden(error)) throw error;
      const fields = { machine: machine.metadata.name, error: errorText(error) };
      this.#options.log.warn('No permission to extend the bootstrap token; the machine may fail to join', fields);
    }
    this.#lives.set(machine.metadata.uid, until);
  }

  async read(machine: Machine): Promise<string | undefined> {
    const found = await ignoreNotFound(this.#secrets.get(tokenSecretName(machine)));
    return found && tokenOf(found);
  }

  async remove(machine: Machine): Promise<void> {
    this.#lives.delete(machine.metadata.uid);
    try {
      await ignoreNotFound(this.#secrets.delete(tokenSecretName(machine)));
      this.#issued.delete(machine.metadata.uid);
    } catch (error) {
      const fields = { machine: machine.metadata.name, error: errorText(error) };
      this.#options.log.warn(
        'Cannot delete bootstrap token; mcm deletes the token together with the machine, unless the token expires earlier',
        fields,
      );
    }
  }

  issued(machine: Machine): boolean {
    return this.#issued.has(machine.metadata.uid);
  }
}

export const createTokenIssuer = (options: TokenIssuerOptions): BootstrapTokenIssuer => new Issuer(options);

/** In observe mode, the process creates no VMs, so it creates no tokens. */
export function observeOnlyTokens(): BootstrapTokenIssuer {
  const lives = new Map<string, Date>();
  return {
    ensure: () => Promise.resolve(''),
    livesUntil: ({ metadata }) => lives.get(metadata.uid),
    extend: async ({ metadata }, until) => {
      lives.set(metadata.uid, until);
    },
    read: () => Promise.resolve(undefined),
    remove: async ({ metadata }) => {
      lives.delete(metadata.uid);
    },
    issued: () => false,
  };
}
