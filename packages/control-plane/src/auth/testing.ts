import type { ControlPlane } from '../plane.ts';

interface Loose {
  readonly [key: string]: Loose;
}

export interface Answer {
  readonly status: number;
  readonly warnings: readonly string[];
  readonly body: Loose;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const caller =
  (plane: ControlPlane) =>
  async (method: string, path: string, { body, token, headers }: CallOptions = {}): Promise<Answer> => {
    const response = await plane.fetch(
      new Request(`http://plane${path}`, {
        method,
        headers: {
          'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    const warnings = (response.headers.get('warning') ?? '').split(', ').filter((warning) => warning !== '');
    const text = await response.text();
    return { status: response.status, warnings, body: text.startsWith('{') ? JSON.parse(text) : text };
  };
