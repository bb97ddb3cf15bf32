-- Cached keys carry the company's texts, so a changed text is recorded like a changed key.
CREATE OR REPLACE TRIGGER text_change AFTER INSERT OR UPDATE OR DELETE ON otp_codetext FOR EACH ROW
EXECUTE FUNCTION record_company_change();

CREATE OR REPLACE TRIGGER text_truncation AFTER TRUNCATE ON otp_codetext FOR EACH STATEMENT
EXECUTE FUNCTION record_company_change();

CREATE OR REPLACE TRIGGER text_change AFTER INSERT OR UPDATE OR DELETE ON otp_autofill FOR EACH ROW
EXECUTE FUNCTION record_company_change();

CREATE OR REPLACE TRIGGER text_truncation AFTER TRUNCATE ON otp_autofill FOR EACH STATEMENT
EXECUTE FUNCTION record_company_change();
