import { decodeContents } from '@mcm/machine-config';
import { z } from 'zod';

export interface ConfigPointer {
  readonly server: string;
  readonly path: string;
  readonly ca?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

const resource = z.looseObject({
  source: z.url({ protocol: /^https?$/ }),
  httpHeaders: z.array(z.looseObject({ name: z.string().min(1), value: z.string().optional() })).optional(),
});

export const pointerSchema = z.looseObject({
  config: z.looseObject({ merge: z.array(resource).optional(), replace: resource.optional() }).optional(),
  security: z
    .looseObject({
      tls: z.looseObject({ certificateAuthorities: z.array(z.looseObject({ source: z.string() })).optional() }),
    })
    .optional(),
});

/**
 * Returns the URL of the config to which an Ignition config refers, or undefined.
 * @throws DataUrlError for a certificate authority that cannot be read
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
