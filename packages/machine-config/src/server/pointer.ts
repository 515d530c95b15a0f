import { encodeBase64DataUrl, IGNITION_VERSION } from '../ignition/index.ts';

/** Options of the pointer config in a machine's user data. */
export interface PointerOptions {
  /** URL of the config server, such as `https://config.example:22623`. */
  readonly server: string;
  readonly pool: string;
  /** The CA of the server, PEM. */
  readonly authority: string;
  /** A bootstrap token, or the placeholder that the machine controller replaces. */
  readonly token: string;
}

/**
 * Returns the Ignition config for the user data of a machine. The config contains only the URL of the pool's
 * configuration, the CA and the token.
 */
export const pointerConfig = ({ server, pool, authority, token }: PointerOptions): object => ({
  ignition: {
    version: IGNITION_VERSION,
    config: {
      merge: [
        {
          source: `${server.replace(/\/$/, '')}/config/${pool}`,
          httpHeaders: [{ name: 'Authorization', value: `Bearer ${token}` }],
        },
      ],
    },
    security: { tls: { certificateAuthorities: [{ source: encodeBase64DataUrl(authority) }] } },
  },
});
