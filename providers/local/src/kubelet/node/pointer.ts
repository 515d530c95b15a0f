import { decodeContents } from '@mcm/machine-config';
import { z } from 'zod';

/** The Ignition config in the user data contains the address of a machine's first configuration. */
export interface ConfigPointer {
  readonly server: string;
  readonly path: string;
  /** The certificate authority of the config server, as PEM. */
  readonly ca?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

const resource = z.looseObject({
  source: z.url({ protocol: /^https?$/ }),
  httpHeaders: z.array(z.looseObject({ name: z.string().min(1), value: z.string().optional() })).optional(),
});

/** The part of an Ignition config that refers to another config. */
export const pointerSchema = z.looseObject({
  config: z.looseObject({ merge: z.array(resource).optional(), replace: resource.optional() }).optional(),
  security: z
    .looseObject({
      tls: z.looseObject({ certificateAuthorities: z.array(z.looseObject({ source: z.string() })).optional() }),
    })
    .optional(),
});

/**
 * Returns the URL of the first config to which the Ignition config refers, or undefined.
 * @throws DataUrlError for a CA that cannot be read
 */
export function pointerOf({ config, security }: z.infer<typeof pointerSchema>): ConfigPointer | undefined {
  const target = config?.replace ?? config?.merge?.[0];
  if (!target) return undefined;
  const { origin, pathname, search } = new URL(target.source);
  const authorities = security?.tls.certificateAuthorities ?? [];
  const headers = (target.httpHeaders ?? []).map(({ name, value = '' }) => [name.toLowerCase(), value]);
  return {
    server: origin,
    path: `${pathname}${search}`,
    headers: Object.fromEntries(headers),
    ca:
      authorities.length > 0
        ? authorities.map(({ source }) => Buffer.from(decodeContents(source, undefined)).toString('utf8')).join('\n')
        : undefined,
  };
}
