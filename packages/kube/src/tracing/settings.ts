/** The collector that receives the spans. */
export interface TracingSettings {
  /** The URL of the collector: `http(s)://host:port`, with an optional path prefix. */
  readonly server: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string | undefined;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The result if tracing is disabled, with the reason. */
export interface TracingOff {
  readonly off: true;
  readonly because?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Parses `key=value,key=value` with percent-encoded values, as in the variables of OpenTelemetry. */
function pairs(text: string): Record<string, string> | undefined {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
  try {
    const entries = parts.map((part): [string, string] => {
      const at = part.indexOf('=');
      if (at < 1) throw new URIError('no key');
      return [part.slice(0, at).trim(), decodeURIComponent(part.slice(at + 1).trim())];
    });
    return Object.fromEntries(entries);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

const off = (because?: string): TracingOff => ({ off: true, because });

/**
 * Reads the environment variables of OpenTelemetry. An invalid value only disables tracing, because a controller must
 * run even without tracing.
 */
export function tracingSettings(env: Environment): TracingSettings | TracingOff {
  const own = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? '';
  const shared = env.OTEL_EXPORTER_OTLP_ENDPOINT ?? '';
  const asked = own || shared;
  if (asked === '' || env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none')
    return off();
  const variable = own === '' ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/json';
  // Collectors accept OTLP over HTTP on a separate port, so OTLP over gRPC is not supported.
  if (!protocol.startsWith('http/')) {
    return off(
      `OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, but only http/json is supported (port 4318 of a collector)`,
    );
  }
  const url = URL.canParse(asked) ? new URL(asked) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return off(`${variable} is not an http(s) URL`);
  const headers = pairs(
    [env.OTEL_EXPORTER_OTLP_HEADERS, env.OTEL_EXPORTER_OTLP_TRACES_HEADERS].filter(Boolean).join(','),
  );
  // The message omits the value, because the value may be a token.
  if (headers === undefined) return off('OTEL_EXPORTER_OTLP_HEADERS must have the format key=value,key=value');
  const attributes = pairs(env.OTEL_RESOURCE_ATTRIBUTES ?? '');
  if (attributes === undefined) return off('OTEL_RESOURCE_ATTRIBUTES must have the format key=value,key=value');
  const { 'service.name': named, ...rest } = attributes;
  const base = url.pathname.replace(/\/+$/, '');
  return {
    server: url.origin,
    path: own === '' ? `${base}/v1/traces` : `${url.pathname}${url.search}`,
    headers,
    serviceName: env.OTEL_SERVICE_NAME || named,
    attributes: rest,
  };
}
