const ownText = (error: Error): string => {
  // If a host has several addresses, only the inner errors contain the messages of Node.js.
  if (error.message === '' && error instanceof AggregateError) return errorText(error.errors[0]);
  // OpenSSL ends its messages with a line break.
  return error.message === '' ? error.name : error.message.trim();
};

/** Returns the message of an error in one line, with the messages of its causes. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = ownText(error);
  if (error.cause === undefined) return text;
  const why = errorText(error.cause);
  return text.includes(why) ? text : `${text}: ${why}`;
}
