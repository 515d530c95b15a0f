const ownText = (error: Error): string => {
  // For a host with several addresses, Node.js puts the messages into the inner errors.
  if (error.message === '' && error instanceof AggregateError) return errorText(error.errors[0]);
  // OpenSSL ends its messages with a line break.
  return error.message === '' ? error.name : error.message.trim();
};

/** On one line, with the messages of the causes. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = ownText(error);
  if (error.cause === undefined) return text;
  const why = errorText(error.cause);
  return text.includes(why) ? text : `${text}: ${why}`;
}
